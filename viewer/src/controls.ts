// The bar under the picture: play, steps, scrub, time, speed, environment, follow, contacts.
import { Clock, SPEEDS } from "./clock";
import { button, el, setPressed } from "./dom";
import type { Film } from "./film";
import { seconds } from "./text";

export interface Actions {
  select(index: number): void;
  toggleFollow(): void;
  toggleContacts(): void;
  reset(): void;
}

export interface View {
  selected: number;
  following: boolean;
  contacts: boolean;
}

export class Controls {
  readonly node: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly time = el("output", { for: "scrub", class: "time" });
  private readonly speed = el("select", { "aria-label": "speed", title: "speed" });
  private readonly which: HTMLSelectElement | null;
  private readonly follow: HTMLButtonElement;
  private readonly contacts: HTMLButtonElement | null;

  constructor(film: Film, private readonly clock: Clock, actions: Actions, withContacts: boolean) {
    this.play = button("Play", "play", () => clock.toggle(), { class: "primary" });
    this.scrub = el("input", { type: "range", id: "scrub", min: 0, max: clock.last, step: 1, value: 0, "aria-label": "time" });
    this.scrub.addEventListener("input", () => clock.seek(Number(this.scrub.value)));
    for (const speed of SPEEDS) this.speed.append(el("option", { value: speed }, `${speed}\u00d7`));
    this.speed.addEventListener("change", () => clock.setSpeed(Number(this.speed.value)));
    this.which = film.runs.length > 1 ? chooser(film, actions) : null;
    this.follow = button("Follow", "follow the figure (F)", () => actions.toggleFollow());
    this.contacts = withContacts ? button("Contacts", "contact points and forces (C)", () => actions.toggleContacts()) : null;
    const steps = [
      button("\u2039", "one frame back (\u2190)", () => clock.step(-1), { class: "step" }),
      button("\u203a", "one frame on (\u2192)", () => clock.step(1), { class: "step" }),
    ];
    const view = el("div", { class: "view" }, this.speed, this.which, this.follow, this.contacts, button("\u21ba", "the first view again (R)", () => actions.reset(), { class: "step" }));
    const still = clock.last === 0;
    this.node = el("div", { class: "controls" },
      still ? null : el("div", { class: "playbar" }, this.play, ...steps, this.scrub, this.time),
      view,
    );
    this.speed.hidden = still;
  }

  update(view: View): void {
    const { at, last, dt, playing } = this.clock;
    this.play.replaceChildren(playing ? "Pause" : "Play");
    this.play.setAttribute("aria-label", playing ? "pause (space)" : "play (space)");
    this.play.title = playing ? "pause (space)" : "play (space)";
    this.scrub.value = String(at);
    this.scrub.setAttribute("aria-valuetext", `${seconds(at * dt)} seconds`);
    this.time.replaceChildren(`${seconds(at * dt)} / ${seconds(last * dt)} s`);
    this.speed.value = String(this.clock.speed);
    if (this.which) this.which.value = String(view.selected);
    setPressed(this.follow, view.following);
    if (this.contacts) setPressed(this.contacts, view.contacts);
  }
}

function chooser(film: Film, actions: Actions): HTMLSelectElement {
  const names = film.runs.map((run, i) => el("option", { value: i }, run.name || `Environment ${i + 1}`));
  const node = el("select", { "aria-label": "environment", title: "environment" }, el("option", { value: -1 }, "All"), ...names);
  node.addEventListener("change", () => actions.select(Number(node.value)));
  return node;
}
