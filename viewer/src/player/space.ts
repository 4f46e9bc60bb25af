// The picture in space: the stage, names of solids under the pointer, labels, and what keys do to the camera.
import { el } from "../shared/dom";
import type { SolidFilm } from "./film";
import type { Picture, Switch } from "./picture";
import { Stage } from "./stage";
import { brief } from "../shared/text";
import { isPrinting } from "../shared/theme";

const NO_WEBGL = "This picture is drawn with WebGL 2, which this browser does not offer or has switched off.";
const TURN = 0.09;
const POINTER: [string, string][] = [
  ["Drag", "look around"],
  ["Wheel, pinch", "nearer and farther"],
  ["Right button, Shift-drag, two fingers", "move the view"],
];
const KEYS: [string, string][] = [
  ["A D W S", "look from the left, right, higher, lower"],
  ["+ \u2212", "nearer, farther"],
  ["F", "follow the figure, or stay"],
  ["R", "the first view again"],
];

export function spaceOf(film: SolidFilm, changed: () => void, embedded: boolean): Picture {
  const canvas = el("canvas", { role: "img", "aria-label": `${film.title || "the trajectory"}, drawn in three dimensions` });
  const context = canvas.getContext("webgl2", { alpha: true, antialias: true });
  return context ? new Space(film, canvas, context, changed, embedded) : nothing(film);
}

class Space implements Picture {
  readonly node: HTMLElement;
  readonly aspect = null;
  readonly switches: Switch[];
  readonly help: Picture["help"];
  private readonly stage: Stage;
  private readonly hint = el("div", { class: "hint", hidden: true });
  private readonly labels: HTMLElement[];
  private size: [number, number] = [1, 1];
  // what is printed: of the canvas itself a browser would print what it showed last
  private readonly paper = el("canvas", { class: "paper", "aria-hidden": "true" });

  constructor(film: SolidFilm, private readonly canvas: HTMLCanvasElement, context: WebGL2RenderingContext, changed: () => void, embedded: boolean) {
    this.stage = new Stage(film, canvas, context, changed);
    this.labels = film.runs.length > 1 ? film.runs.map((run, i) => el("span", { class: "label" }, run.name || String(i + 1))) : [];
    this.node = el("div", { class: "space" }, canvas, ...this.labels, this.hint);
    this.switches = this.stage.touches.available ? [this.followed(), this.touched()] : [this.followed()];
    const pointer = POINTER.map(([name, does]): [string, string] => [embedded ? name.replace("Wheel", "Ctrl and wheel") : name, does]);
    this.help = { pointer, keys: this.stage.touches.available ? [...KEYS, ["C", "contact points and forces"]] : KEYS };
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => (this.hint.hidden = true));
    canvas.addEventListener("webglcontextrestored", changed);
  }

  get selected(): number {
    return this.stage.selected;
  }

  readonly reset = (): void => this.stage.look();

  get keys(): Picture["keys"] {
    const { stage } = this;
    const [follow, contacts] = this.switches;
    return {
      a: () => stage.orbit.turn(-TURN, 0),
      d: () => stage.orbit.turn(TURN, 0),
      w: () => stage.orbit.turn(0, TURN),
      s: () => stage.orbit.turn(0, -TURN),
      "+": () => stage.orbit.zoom(0.9),
      "=": () => stage.orbit.zoom(0.9),
      "-": () => stage.orbit.zoom(1 / 0.9),
      f: () => follow.press(),
      r: () => stage.look(),
      c: () => contacts?.press(),
    };
  }

  draw(at: number): string {
    const { stage } = this;
    const { count, newtons } = stage.draw(at);
    if (isPrinting()) this.copy();
    else this.paper.remove();
    this.labels.forEach((label, i) => {
      const place = stage.labelAt(stage.actors[i], at, ...this.size);
      label.hidden = place === null;
      if (place) label.style.transform = `translate(${place.x}px, ${place.y}px) translate(-50%, -100%)`;
      label.classList.toggle("chosen", i === stage.selected);
    });
    if (!stage.touches.root.visible) return "";
    return `${count} ${count === 1 ? "contact" : "contacts"}, forces of ${brief(newtons)} N`;
  }

  private copy(): void {
    const { canvas, paper } = this;
    Object.assign(paper, { width: canvas.width, height: canvas.height });
    paper.getContext("2d")?.drawImage(canvas, 0, 0);
    canvas.after(paper);
  }

  resize(width: number, height: number): void {
    this.size = [width, height];
    this.stage.resize(width, height);
  }

  paint(): void {
    this.stage.paint();
  }

  select(index: number): void {
    this.stage.select(index);
  }

  private followed(): Switch {
    const { stage } = this;
    return {
      text: "Follow",
      label: "follow the figure (F)",
      pressed: () => stage.following,
      press: () => stage.follow(!stage.following),
    };
  }

  private touched(): Switch {
    const { root } = this.stage.touches;
    return {
      text: "Contacts",
      label: "contact points and forces (C)",
      pressed: () => root.visible,
      press: () => (root.visible = !root.visible),
    };
  }

  // Tell the name of what the pointer is on.
  private point(event: PointerEvent): void {
    const { stage, node, hint } = this;
    if (stage.orbit.dragging || event.pointerType === "touch") {
      hint.hidden = true;
      return;
    }
    const [x, y] = [event.offsetX, event.offsetY];
    const name = stage.nameAt((2 * x) / node.clientWidth - 1, 1 - (2 * y) / node.clientHeight);
    hint.replaceChildren(name);
    hint.hidden = name === "";
    const left = x > node.clientWidth / 2;
    hint.style.transform = `translate(${left ? x - 10 : x + 14}px, ${y + 14}px) translateX(${left ? -100 : 0}%)`;
  }
}

// In place of a picture that cannot be drawn: time and values go on.
function nothing(film: SolidFilm): Picture {
  const node = el("p", { class: "sorry" }, NO_WEBGL);
  const no = () => {};
  let selected = film.runs.length > 1 ? -1 : 0;
  const select = (index: number) => (selected = index);
  const still = { node, switches: [], keys: {}, help: { pointer: [], keys: [] }, reset: null, aspect: null, draw: () => "", resize: no, paint: no, select };
  return { ...still, get selected() { return selected; } };
}
