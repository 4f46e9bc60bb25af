// Where a player goes: into a page of its own, or into a part of another page.
import { el } from "../shared/dom";
import type { Place } from "./player";

// The whole page; its data are in the page.
export function wholePage<Raw>(): [Raw, Place] {
  const raw = JSON.parse(document.getElementById("data")?.textContent ?? "") as Raw;
  const node = document.getElementById("page") ?? document.body;
  return [raw, { node, embedded: false }];
}

// Inside a node of another page, apart from that page's style sheet; the colours come from there.
export function partOf(host: HTMLElement, style: string): Place {
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];
  const node = el("main", { class: "embedded", tabindex: 0, "aria-label": "the player of an episode" });
  root.append(node);
  return { node, embedded: true };
}
