// Values over time under the scrub bar: a chip for each, lines for those that are pressed, and a cursor.
import type { Clock } from "./clock";
import { el, setPressed, setText, svg } from "../shared/dom";
import type { Film } from "./picture";
import { brief } from "../shared/text";
import { isPrinting, PAPER } from "../shared/theme";

const HEIGHT = 92;
const EDGE = 6;
// pixels to the left of the lines, for the numbers of the axis
const GUTTER = 56;
const COLORS = 8;

interface Row {
  name: string;
  // by environment; null where it has no such value
  data: (Float64Array | null)[];
  chip: HTMLButtonElement;
  now: HTMLElement;
  chosen: boolean;
}

export class Graph {
  readonly node: HTMLElement | null;
  private readonly rows: Row[];
  private readonly plot = svg("svg", { class: "plot", role: "img", "aria-label": "the chosen values over time" });
  private readonly lines = svg("g");
  private readonly cursor = svg("line", { class: "cursor", y1: 0, y2: HEIGHT });
  private readonly top = svg("text", { class: "tick", x: GUTTER - 6, y: 13 });
  private readonly bottom = svg("text", { class: "tick", x: GUTTER - 6, y: HEIGHT - 4 });
  private width = 0;

  constructor(
    private readonly film: Film,
    private readonly clock: Clock,
    private readonly selected: () => number,
  ) {
    const names = [...new Set(film.runs.flatMap((run) => run.values.map((value) => value.name)))];
    this.rows = names.map((name, i) => this.row(name, i));
    const first = this.rows.find((row) => varies(row.data)) ?? this.rows[0];
    if (first) this.choose(first, true);
    this.node = names.length ? el("section", { class: "graph", "aria-label": "values" }) : null;
    if (!this.node) return;
    this.plot.append(this.lines, this.cursor, this.top, this.bottom);
    this.node.append(el("div", { class: "chips" }, ...this.rows.map((row) => row.chip)), this.plot);
    const scrub = (event: PointerEvent) => {
      if (event.buttons) clock.seek(((event.offsetX - GUTTER) / this.room) * clock.last);
    };
    this.plot.addEventListener("pointerdown", (event) => {
      if (event.isTrusted) this.plot.setPointerCapture(event.pointerId);
      scrub(event);
    });
    this.plot.addEventListener("pointermove", scrub);
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  // Draw the lines again: another choice, width or environment.
  draw(): void {
    this.width = isPrinting() ? PAPER : this.plot.clientWidth;
    if (!this.node || !this.width) return;
    const shown = this.rows.filter((row) => row.chosen);
    const [low, high] = extent(shown.flatMap((row) => row.data));
    this.plot.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.node.classList.toggle("several", this.film.runs.length > 1 && this.selected() < 0);
    this.lines.replaceChildren(...shown.flatMap((row) => this.drawRow(row, low, high)));
    this.top.replaceChildren(shown.length ? brief(high) : "");
    this.bottom.replaceChildren(shown.length ? brief(low) : "");
    this.update();
  }

  // Another time.
  update(): void {
    const { at, last } = this.clock;
    const x = String(GUTTER + this.room * (last ? at / last : 0));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    for (const row of this.rows) setText(row.now, span(this.now(row, Math.floor(at + 1e-6))));
  }

  // Pixels from the first time to the last.
  private get room(): number {
    return Math.max(1, this.width - GUTTER);
  }

  // What a value is at a frame, of the environment that is chosen or of each; who has ended stays as it is.
  private now(row: Row, frame: number): number[] {
    const { runs } = this.film;
    const chosen = this.selected() < 0 ? runs.map((_, run) => run) : [this.selected()];
    return chosen.map((run) => row.data[run]?.[Math.min(frame, runs[run].frames - 1)] ?? NaN).filter(Number.isFinite);
  }

  private row(name: string, i: number): Row {
    // no <output>: a screen reader would tell each frame of a film that plays
    const now = el("span", { class: "now" });
    const swatch = el("span", { class: `swatch color${i % COLORS}` });
    const chip = el("button", { type: "button", class: "chip" }, swatch, el("span", { class: "name" }, name), now);
    const data = this.film.runs.map((run) => run.values.find((value) => value.name === name)?.data ?? null);
    const row: Row = { name, data, chip, now, chosen: false };
    this.choose(row, false);
    chip.addEventListener("click", () => {
      this.choose(row, !row.chosen);
      this.draw();
    });
    return row;
  }

  private choose(row: Row, chosen: boolean): void {
    row.chosen = chosen;
    setPressed(row.chip, chosen);
  }

  private drawRow(row: Row, low: number, high: number): SVGPathElement[] {
    const color = `color${this.rows.indexOf(row) % COLORS}`;
    return row.data.flatMap((data, run) => {
      const faint = this.selected() >= 0 && run !== this.selected() ? " faint" : "";
      return data ? [svg("path", { class: `line ${color}${faint}`, d: this.path(data, low, high) })] : [];
    });
  }

  // Through every time; where there are more times than pixels, through the lowest and the highest of each pixel.
  private path(data: Float64Array, low: number, high: number): string {
    // halves: a whole span may be too large for a number
    const share = (value: number) => (value / 2 - low / 2) / (high / 2 - low / 2);
    const y = (value: number) => (HEIGHT - EDGE - share(value) * (HEIGHT - 2 * EDGE)).toFixed(1);
    const each = Math.max(1, Math.floor(this.clock.last / this.room));
    let text = "";
    let pen = false;
    for (let t = 0; t < data.length; t += each) {
      const part = data.subarray(t, t + each).filter(Number.isFinite);
      const x = (GUTTER + (t / Math.max(1, this.clock.last)) * this.room).toFixed(1);
      if (part.length) text += pen ? `L${x} ${y(Math.min(...part))}` : `M${x} ${y(Math.min(...part))}h0`; // alone a dot
      if (part.length > 1) text += `L${x} ${y(Math.max(...part))}`;
      pen = part.length > 0;
    }
    return text;
  }
}

function varies(arrays: (Float64Array | null)[]): boolean {
  const known = arrays.flatMap((data) => [...(data ?? [])].filter(Number.isFinite));
  return known.some((value) => value !== known[0]);
}

// One number, or the lowest and the highest of several.
function span(values: number[]): string {
  const [low, high] = [brief(Math.min(...values)), brief(Math.max(...values))];
  return low === high ? low : `${low} \u2026 ${high}`;
}

function extent(arrays: (Float64Array | null)[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const data of arrays) {
    data?.filter(Number.isFinite).forEach((value) => {
      if (value < low) low = value;
      if (value > high) high = value;
    });
  }
  if (low > high) return [0, 1];
  const room = Math.max(0.5, 1e-9 * Math.abs(low));
  return low < high ? [low, high] : [low - room, high + room];
}
