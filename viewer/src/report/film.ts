// The best agent's episode. The player is a script of its own, which precedes this one on pages that need it.
import { el } from "../shared/dom";
import type { Film } from "./data";
import { sectionOf } from "./parts";

declare const kousokuPlayer: { mount(host: HTMLElement, film: unknown, style: string): void };

export function filmSection(player: Film | null): HTMLElement | null {
  if (!player) return null;
  const host = el("div", { class: "film" });
  kousokuPlayer.mount(host, player.film, player.style);
  const [agent, name] = player.who;
  return sectionOf("path", `${agent}\u2019s episode`, `One greedy episode of ${name}.`, host);
}
