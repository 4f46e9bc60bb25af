// What plays a film: a picture, the bar, values, keys. What the picture is made of is none of its business. It fills a
// page of its own, or a part of another page: then it waits for the reader to press Play, and hears keys only while it
// has the focus.
import { Clock } from "./clock";
import { Controls } from "./controls";
import { button, el, setText, svg } from "../shared/dom";
import { Graph } from "./graph";
import { helpDialog } from "./help";
import { listen, type Keys } from "./keys";
import type { Film, Picture } from "./picture";
import { isPrinting, onPrint, onSystemTheme, PAPER, toggleTheme } from "../shared/theme";

// height over width, on paper, of a picture that has no shape of its own
const WIDE = 0.62;

// Where a player lies: a page of its own, or embedded in another one.
export interface Place {
  node: HTMLElement;
  embedded: boolean;
}

export class Player {
  private readonly clock: Clock;
  private readonly status = el("p", { class: "status" });
  private readonly picture: Picture;
  private readonly controls: Controls;
  private readonly graph: Graph;
  private readonly help: HTMLDialogElement;
  private readonly box: HTMLElement;
  private pending = false;
  private before = 0;

  constructor(
    private readonly film: Film,
    private readonly place: Place,
    made: (changed: () => void) => Picture,
  ) {
    this.clock = new Clock(film.frames - 1, film.dt);
    this.picture = made(() => this.refresh());
    this.controls = new Controls(film, this.clock, this.picture, (index) => this.select(index));
    this.graph = new Graph(film, this.clock, () => this.picture.selected);
    this.help = helpDialog(this.picture.help, place.embedded);
    this.box = el("div", { class: "stage" }, this.picture.node, this.status);
    this.lay();
    this.clock.onChange(() => this.refresh());
    listen(place.embedded ? place.node : document, this.keys());
    onSystemTheme(() => this.repaint());
    onPrint(() => this.reprint());
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  start(): void {
    this.graph.draw();
    this.resize();
    if (!this.place.embedded && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.clock.toggle();
    this.refresh();
    if (!this.place.embedded) document.documentElement.dataset.ready = "yes";
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
    this.controls.update();
    this.graph.update();
    setText(this.status, this.picture.draw(this.clock.at));
  }

  private lay(): void {
    const { film, place } = this;
    const help = button("?", "pointer and keys (?)", () => this.help.showModal(), { class: "round" });
    const last = film.left === 1 ? "frame is" : `${film.left.toLocaleString("en")} frames are`;
    const cut = film.left > 0 ? el("p", { class: "cut" }, `The last ${last} left out.`) : null;
    const foot = el("footer", {}, this.controls.node, this.graph.node, cut);
    if (place.embedded) {
      const whole = button("", "the whole screen", () => this.toggleScreen(), { class: "round" });
      whole.append(svg("svg", { class: "icon", viewBox: "0 0 14 14" }, svg("path", { d: "M1 5V1h4M9 1h4v4M13 9v4H9M5 13H1V9" })));
      this.controls.view.append(whole, help);
      if (this.picture.aspect) this.box.style.aspectRatio = String(1 / this.picture.aspect);
      place.node.replaceChildren(this.box, foot, this.help);
      return;
    }
    const theme = button("\u25d0", "light or dark (T)", () => this.toggleTheme(), { class: "round" });
    const heading = el("h1", {}, film.title);
    place.node.replaceChildren(el("header", {}, heading, el("div", { class: "corner" }, theme, help)), this.box, foot, this.help);
  }

  private select(index: number): void {
    if (index >= this.film.runs.length || this.film.runs.length === 1) return;
    this.picture.select(index);
    this.graph.draw();
    this.refresh();
  }

  private keys(): Keys {
    const { clock, picture } = this;
    const digits = Array.from({ length: 10 }, (_, k) => [String(k), () => this.select(k - 1)] as const);
    const own = Object.entries(picture.keys).map(([name, act]) => [name, () => (act(), this.refresh())] as const);
    return {
      ...Object.fromEntries(digits),
      ...Object.fromEntries(own),
      " ": () => clock.toggle(),
      ArrowLeft: () => clock.step(-1),
      ArrowRight: () => clock.step(1),
      Home: () => clock.seek(0),
      End: () => clock.seek(clock.last),
      ",": () => clock.faster(-1),
      ".": () => clock.faster(1),
      "?": () => this.help.showModal(),
      ...(this.place.embedded ? {} : { t: () => this.toggleTheme() }),
    };
  }

  private toggleScreen(): void {
    if (document.fullscreenElement) void document.exitFullscreen();
    else void this.place.node.requestFullscreen();
  }

  private toggleTheme(): void {
    toggleTheme();
    this.repaint();
  }

  private repaint(): void {
    this.picture.paint();
    this.refresh();
  }

  // At once: what is printed is what was drawn before this returns.
  private reprint(): void {
    this.picture.paint();
    this.graph.draw();
    this.resize();
  }

  private resize(): void {
    const [width, height] = isPrinting() ? [PAPER, PAPER * Math.min(1, this.picture.aspect ?? WIDE)] : [this.box.clientWidth, this.box.clientHeight];
    if (width) this.picture.resize(width, height);
    this.draw();
  }
}
