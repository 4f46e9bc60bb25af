// The picture in the plane: environments side by side, each an SVG; one of them alone if it was chosen.
import { el, svg } from "../shared/dom";
import { loaded, shapeNode, sheetRadius, trail, type Drawn } from "./drawn";
import type { Picture, Switch } from "./picture";

const GAP = 20;
const LABEL = 26;
// pixels that a picture is wide at least
const LEAST = 40;
// pixels by which the corners of a picture are rounded at least
const SMALLEST_RADIUS = 8;

interface Cell {
  drawn: Drawn;
  node: HTMLElement;
  root: SVGSVGElement;
  back: SVGGElement;
  front: SVGGElement;
  shown: number;
  background: number;
}

export class Drawings implements Picture {
  readonly node: HTMLElement;
  readonly switches: Switch[];
  readonly keys: Picture["keys"];
  readonly help: Picture["help"];
  readonly reset = null;
  readonly aspect: number;
  selected: number;
  private readonly cells: Cell[];
  // kept, so that the browser keeps them, too
  readonly images: HTMLImageElement[];
  private way = true;
  private size: [number, number] = [0, 0];

  constructor(
    runs: (Drawn & { name: string })[],
    private readonly changed: () => void,
    // what the head of the page covers
    private readonly head: number,
  ) {
    const many = runs.length > 1;
    this.selected = many ? -1 : 0;
    this.cells = runs.map((run, i) => cellOf(run, many ? run.name || String(i + 1) : ""));
    this.images = runs.flatMap(loaded);
    this.aspect = Math.max(...runs.map((run) => run.height / run.width));
    this.node = el("div", { class: "drawings" }, ...this.cells.map((cell) => cell.node));
    const walks = this.node.querySelector(".trail") !== null;
    const toggle = () => {
      this.way = !this.way;
      this.node.classList.toggle("noway", !this.way);
    };
    this.switches = walks ? [{ text: "Way", label: "the whole way (W)", pressed: () => this.way, press: toggle }] : [];
    this.keys = walks ? { w: toggle } : {};
    this.help = { pointer: [], keys: walks ? [["W", "the whole way, or not"]] : [] };
  }

  draw(at: number): string {
    for (const cell of this.cells) show(cell, Math.min(cell.drawn.frames.length - 1, Math.floor(at + 1e-6)));
    return "";
  }

  // In the rows and columns that leave most room.
  resize(width: number, height: number): void {
    this.size = [width, height];
    const cells = this.cells.filter((_, i) => this.selected < 0 || i === this.selected);
    const label = this.cells.length > 1 ? LABEL : 0;
    const [wide, high] = [Math.max(...cells.map(({ drawn }) => drawn.width)), Math.max(...cells.map(({ drawn }) => drawn.height))];
    let [scale, columns] = [0, 1];
    const most = Math.max(1, Math.floor((width - GAP) / (LEAST + GAP)));
    for (let n = 1; n <= Math.min(cells.length, most); n += 1) {
      const rows = Math.ceil(cells.length / n);
      const fits = Math.min((width - GAP) / n - GAP, (((height - this.head) / rows - GAP - label) * wide) / high) / wide;
      if (fits > scale) [scale, columns] = [fits, n];
    }
    scale = Math.max(scale, LEAST / wide);
    this.node.style.gridTemplateColumns = `repeat(${columns}, minmax(0, max-content))`;
    for (const { node, root, drawn } of this.cells) {
      node.hidden = !cells.some((cell) => cell.node === node);
      root.setAttribute("width", String(Math.floor(drawn.width * scale)));
      root.setAttribute("height", String(Math.floor(drawn.height * scale)));
      root.style.borderRadius = `${Math.max(SMALLEST_RADIUS, sheetRadius(drawn) * scale)}px`;
    }
  }

  paint(): void {}

  select(index: number): void {
    this.selected = index;
    this.resize(...this.size);
    this.changed();
  }
}

function cellOf(drawn: Drawn, name: string): Cell {
  const [back, front] = [svg("g"), svg("g")];
  const way = trail(drawn);
  const line = way.length ? svg("polyline", { class: "trail", points: way.map((place) => place.join(",")).join(" ") }) : null;
  const label = name || "the episode";
  const root = svg("svg", { class: "scene", viewBox: `0 0 ${drawn.width} ${drawn.height}`, role: "img", "aria-label": label }, back, line, front);
  const node = el("figure", {}, name ? el("figcaption", { class: "caption" }, name) : null, root);
  return { drawn, node, root, back, front, shown: -1, background: -1 };
}

// The background is drawn again only where it changes.
function show(cell: Cell, at: number): void {
  if (at === cell.shown) return;
  const { background, shapes } = cell.drawn.frames[at];
  if (background !== cell.background) cell.back.replaceChildren(...cell.drawn.backgrounds[background].map(shapeNode));
  cell.front.replaceChildren(...shapes.map(shapeNode));
  cell.background = background;
  cell.shown = at;
}
