// Light or dark: the system's choice until the reader makes another.
const query = matchMedia("(prefers-color-scheme: dark)");

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : query.matches;
}

export function toggleTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
}

export function onSystemTheme(listener: () => void): void {
  query.addEventListener("change", listener);
}

export function variable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
