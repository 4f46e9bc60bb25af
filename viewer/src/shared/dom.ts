// Elements. Text becomes text nodes only; nothing here reads a string as markup.
type Attributes = Record<string, string | number | boolean | null>;
export type Child = Node | string | null | readonly Child[];

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill<E extends Element>(node: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (typeof child === "string" || child instanceof Node) node.append(child);
    else if (child !== null) append(node, child);
  }
}

export function button(text: string, label: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const node = el("button", { type: "button", "aria-label": label, title: label, ...attributes }, text);
  node.addEventListener("click", press);
  return node;
}

// Write only what changed: many ask at every frame of a film.
export function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.replaceChildren(text);
}

// A button that stays pressed.
export function setPressed(node: HTMLButtonElement, pressed: boolean): void {
  node.setAttribute("aria-pressed", String(pressed));
}
