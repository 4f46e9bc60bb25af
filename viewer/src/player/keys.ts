// What a key does, pressed anywhere in a part of a page. Letters count in either case; keys that a control needs itself
// are left to it.
export type Keys = Record<string, () => void>;

export function listen(part: Document | HTMLElement, keys: Keys): void {
  part.addEventListener("keydown", (before) => {
    const event = before as KeyboardEvent;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, name) || part.querySelector("dialog[open]") || needs(event.target, name)) return;
    event.preventDefault();
    keys[name]();
  });
}

function needs(target: EventTarget | null, key: string): boolean {
  if (target instanceof HTMLButtonElement) return key === " ";
  if (target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(key);
}
