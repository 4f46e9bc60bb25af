// The bar under the picture: play, steps, scrub, time, speed, environment, follow, contacts.
import { Clock, SPEEDS } from "./clock";
import { button, el, setPressed, setText } from "../shared/dom";
import type { Film, Picture } from "./picture";
import { seconds } from "../shared/text";

type Select = (index: number) => void;

export class Controls {
  readonly node: HTMLElement;
  readonly view: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly time = el("output", { for: "scrub", class: "time", "aria-live": "off" });
  private readonly speed = el("select", { "aria-label": "speed", title: "speed" });
  private readonly which: HTMLSelectElement | null;
  private readonly switches: HTMLButtonElement[];

  constructor(
    private readonly film: Film,
    private readonly clock: Clock,
    private readonly picture: Picture,
    select: Select,
  ) {
    this.play = button("Play", "play", () => clock.toggle(), { class: "primary" });
    this.scrub = el("input", { type: "range", id: "scrub", min: 0, max: clock.last, step: 1, value: 0, "aria-label": "time" });
    this.scrub.addEventListener("input", () => clock.seek(Number(this.scrub.value)));
    for (const speed of SPEEDS) this.speed.append(el("option", { value: speed }, `${speed}\u00d7`));
    chosenBy(this.speed, () => clock.setSpeed(Number(this.speed.value)));
    this.which = film.runs.length > 1 ? chooser(film, select) : null;
    const then = (act: () => void) => () => {
      act();
      clock.changed();
    };
    this.switches = picture.switches.map(({ text, label, press }) => button(text, label, then(press)));
    const steps = [
      button("\u2039", "one frame back (\u2190)", () => clock.step(-1), { class: "step" }),
      button("\u203a", "one frame on (\u2192)", () => clock.step(1), { class: "step" }),
    ];
    const reset = picture.reset && button("\u21ba", "the first view again (R)", then(picture.reset), { class: "step" });
    this.view = el("div", { class: "view" }, this.speed, this.which, ...this.switches, reset);
    const still = clock.last === 0;
    this.node = el("div", { class: "controls" },
      still ? null : el("div", { class: "playbar" }, this.play, ...steps, this.scrub, this.time),
      this.view,
    );
    this.speed.hidden = still;
  }

  update(): void {
    const { clock, picture } = this;
    const { at, playing } = clock;
    setText(this.play, playing ? "Pause" : "Play");
    this.play.setAttribute("aria-label", playing ? "pause (space)" : "play (space)");
    this.play.title = playing ? "pause (space)" : "play (space)";
    this.scrub.value = String(at);
    const [now, end] = [this.clockText(at), this.clockText(clock.last)];
    this.scrub.setAttribute("aria-valuetext", this.film.timed ? `${now} seconds` : `step ${now}`);
    setText(this.time, this.film.timed ? `${now} / ${end} s` : `${now} / ${end} steps`);
    this.speed.value = String(clock.speed);
    if (this.which) this.which.value = String(picture.selected);
    this.switches.forEach((node, i) => setPressed(node, picture.switches[i].pressed()));
  }

  private clockText(at: number): string {
    return this.film.timed ? seconds(at * this.clock.dt, this.clock.dt) : String(Math.floor(at + 1e-6));
  }
}

function chooser(film: Film, select: Select): HTMLSelectElement {
  const names = film.runs.map((run, i) => el("option", { value: i }, run.name || `Environment ${i + 1}`));
  const node = el("select", { "aria-label": "environment", title: "environment" }, el("option", { value: -1 }, "All"), ...names);
  chosenBy(node, () => select(Number(node.value)));
  return node;
}

// A pointer's choice ends there, so that the next key is the player's; who chooses by keys stays.
function chosenBy(node: HTMLSelectElement, then: () => void): void {
  node.addEventListener("change", () => {
    then();
    if (!node.matches(":focus-visible")) node.blur();
  });
}
