// What sections are made of: headings, choices, and room that changes its width.
import { el, type Child } from "../shared/dom";

export function sectionOf(id: string, title: string, lead: string | null, ...children: Child[]): HTMLElement {
  const heading = el("h2", { id: `${id}-title` }, title);
  return el("section", { id, "aria-labelledby": heading.id }, heading, lead ? el("p", { class: "lead" }, lead) : null, ...children);
}

// Buttons of which one is pressed: radio inputs, so that keyboards and readers know them.
export function segments<Choice extends string>(
  name: string,
  legend: string,
  choices: readonly (readonly [value: Choice, text: string])[],
  chosen: Choice,
  onChange: (value: Choice) => void,
): HTMLElement {
  const field = el("fieldset", { class: "segments" }, el("legend", { class: "hidden" }, legend));
  for (const [value, text] of choices) {
    const input = el("input", { type: "radio", name, value, id: `${name}-${value}` });
    input.checked = value === chosen;
    input.addEventListener("change", () => onChange(value));
    field.append(input, el("label", { for: input.id }, text));
  }
  return field;
}

// Whose numbers are shown, where there are several agents.
export function agentSelect(agents: readonly { name: string }[], onChange: (index: number) => void): HTMLElement | null {
  if (agents.length < 2) return null;
  const select = el("select", { id: "agent" }, agents.map((agent, i) => el("option", { value: i }, agent.name)));
  select.addEventListener("change", () => onChange(Number(select.value)));
  return el("div", { class: "field" }, el("label", { for: select.id }, "Agent"), select);
}

// Call `draw(width)` whenever the node has a new width; in a frame of its own, since drawing changes the layout.
export function responsive(node: HTMLElement, draw: (width: number) => void): void {
  let last = 0;
  const look = () => {
    const width = Math.round(node.clientWidth);
    if (width === 0 || width === last) return;
    last = width;
    draw(width);
  };
  new ResizeObserver(() => requestAnimationFrame(look)).observe(node);
}
