// A page with trajectories in three dimensions; see film3d.py for what it reads.
import { Clock } from "./clock";
import { Controls } from "./controls";
import { button, el } from "./dom";
import { unpackFilm, type Film } from "./film";
import { Graph } from "./graph";
import { helpDialog } from "./help";
import { listen } from "./keys";
import { Stage } from "./stage";
import { short } from "./text";
import { onSystemTheme, toggleTheme } from "./theme";

const NO_WEBGL = "This picture is drawn with WebGL 2, which this browser does not offer or has switched off.";
const TURN = 0.09;

class Player {
  private readonly clock: Clock;
  private readonly canvas = el("canvas", { role: "img" });
  private readonly hint = el("div", { class: "hint", hidden: true });
  private readonly status = el("p", { class: "status" });
  private readonly stage: Stage | null;
  private readonly controls: Controls;
  private readonly graph: Graph;
  private readonly help = helpDialog();
  private readonly labels: HTMLElement[];
  private readonly box: HTMLElement;
  private pending = false;
  private before = 0;

  constructor(private readonly film: Film) {
    const { canvas } = this;
    this.clock = new Clock(film.frames - 1, film.dt);
    this.canvas.setAttribute("aria-label", `${film.title || "the trajectory"}, drawn in three dimensions`);
    const context = canvas.getContext("webgl2", { alpha: true, antialias: true });
    this.stage = context && new Stage(film, canvas, context, () => this.refresh());
    this.labels = film.runs.length > 1 ? film.runs.map((run, i) => el("span", { class: "label" }, run.name || String(i + 1))) : [];
    this.controls = new Controls(film, this.clock, this.actions(), this.stage?.touches.available ?? false);
    this.graph = new Graph(film, this.clock, () => this.stage?.selected ?? 0);
    this.box = el("div", { class: "stage" }, ...(this.stage ? [canvas, ...this.labels, this.hint, this.status] : [el("p", { class: "sorry" }, NO_WEBGL)]));
    this.lay();
    this.clock.onChange(() => this.refresh());
    listen(this.keys());
    onSystemTheme(() => this.repaint());
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => (this.hint.hidden = true));
    canvas.addEventListener("webglcontextrestored", () => this.refresh());
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  start(): void {
    this.graph.draw();
    this.resize();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.clock.toggle();
    this.refresh();
  }

  // Draw in the next frame of the screen, and go on as long as the film plays.
  private refresh(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number): void {
    const elapsed = this.before ? Math.min(0.25, (now - this.before) / 1000) : 0;
    this.clock.advance(elapsed);
    this.pending = false;
    this.before = this.clock.playing ? now : 0;
    this.draw();
    if (this.clock.playing) this.refresh();
  }

  private draw(): void {
    const { stage, clock } = this;
    const contacts = stage?.touches.root.visible ?? false;
    this.controls.update({ selected: stage?.selected ?? 0, following: stage?.following ?? false, contacts });
    this.graph.update();
    if (!stage) return;
    const { count, newtons } = stage.draw(clock.at);
    const text = contacts ? `${count} ${count === 1 ? "contact" : "contacts"}, forces of ${short(newtons)} N` : "";
    if (this.status.textContent !== text) this.status.replaceChildren(text);
    this.placeLabels(stage);
  }

  private placeLabels(stage: Stage): void {
    this.labels.forEach((label, i) => {
      const place = stage.labelAt(stage.actors[i], this.clock.at, this.box.clientWidth, this.box.clientHeight);
      label.hidden = place === null;
      if (place) label.style.transform = `translate(${place.x}px, ${place.y}px) translate(-50%, -100%)`;
      label.classList.toggle("chosen", i === stage.selected);
    });
  }

  private lay(): void {
    const help = button("?", "pointer and keys (?)", () => this.help.showModal(), { class: "round" });
    const theme = button("\u25d0", "light or dark (T)", () => this.toggleTheme(), { class: "round" });
    const heading = el("h1", {}, this.film.title);
    const foot = el("footer", {}, this.controls.node, this.graph.node);
    const page = document.getElementById("page");
    page?.replaceChildren(el("header", {}, heading, el("div", { class: "corner" }, theme, help)), this.box, foot, this.help);
  }

  private actions() {
    const { stage } = this;
    const then = (act: () => void) => {
      act();
      this.refresh();
    };
    return {
      select: (index: number) => then(() => {
        if (index >= this.film.runs.length || this.film.runs.length === 1) return;
        stage?.select(index);
        this.graph.draw();
      }),
      toggleFollow: () => then(() => stage?.follow(!stage.following)),
      toggleContacts: () => then(() => {
        if (stage?.touches.available) stage.touches.root.visible = !stage.touches.root.visible;
      }),
      reset: () => then(() => stage?.look()),
    };
  }

  private keys() {
    const { clock, stage } = this;
    const actions = this.actions();
    const digits = Array.from({ length: 10 }, (_, k) => [String(k), () => actions.select(k - 1)] as const);
    return {
      ...Object.fromEntries(digits),
      " ": () => clock.toggle(),
      ArrowLeft: () => clock.step(-1),
      ArrowRight: () => clock.step(1),
      Home: () => clock.seek(0),
      End: () => clock.seek(clock.last),
      ",": () => clock.faster(-1),
      ".": () => clock.faster(1),
      a: () => stage?.orbit.turn(-TURN, 0),
      d: () => stage?.orbit.turn(TURN, 0),
      w: () => stage?.orbit.turn(0, TURN),
      s: () => stage?.orbit.turn(0, -TURN),
      "+": () => stage?.orbit.zoom(0.9),
      "=": () => stage?.orbit.zoom(0.9),
      "-": () => stage?.orbit.zoom(1 / 0.9),
      f: () => actions.toggleFollow(),
      c: () => actions.toggleContacts(),
      r: () => actions.reset(),
      t: () => this.toggleTheme(),
      "?": () => this.help.showModal(),
    };
  }

  private toggleTheme(): void {
    toggleTheme();
    this.repaint();
  }

  private repaint(): void {
    this.stage?.paint();
    this.refresh();
  }

  private resize(): void {
    if (this.box.clientWidth) this.stage?.resize(this.box.clientWidth, this.box.clientHeight);
    this.draw();
  }

  // Tell the name of what the pointer is on.
  private point(event: PointerEvent): void {
    const { stage, box, hint } = this;
    if (!stage || stage.orbit.dragging || event.pointerType === "touch") {
      hint.hidden = true;
      return;
    }
    const [x, y] = [event.offsetX, event.offsetY];
    const name = stage.nameAt((2 * x) / box.clientWidth - 1, 1 - (2 * y) / box.clientHeight);
    hint.replaceChildren(name);
    hint.hidden = name === "";
    const left = x > box.clientWidth / 2;
    hint.style.transform = `translate(${left ? x - 10 : x + 14}px, ${y + 14}px) translateX(${left ? -100 : 0}%)`;
  }
}

new Player(unpackFilm(document.getElementById("data")?.textContent ?? "")).start();
document.documentElement.dataset.ready = "yes";
