// Light or dark: the system's choice until the reader makes another; on paper light.
const query = matchMedia("(prefers-color-scheme: dark)");

// Pixels across a sheet of paper, A4 or Letter, between its margins; viewer.css has the same.
export const PAPER = 680;

export function isPrinting(): boolean {
  return document.documentElement.hasAttribute("data-print");
}

export function isDark(): boolean {
  if (isPrinting()) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : query.matches;
}

export function toggleTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
}

export function onSystemTheme(listener: () => void): void {
  query.addEventListener("change", listener);
}

// What is drawn on a canvas has to be drawn again before it is printed: `listener` finds the colours of paper then.
export function onPrint(listener: () => void): void {
  const switched = (printing: boolean) => () => {
    document.documentElement.toggleAttribute("data-print", printing);
    listener();
  };
  addEventListener("beforeprint", switched(true));
  addEventListener("afterprint", switched(false));
}

export function variable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
