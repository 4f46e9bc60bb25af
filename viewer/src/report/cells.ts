// The cells of a map as SVG: colours, walls, labels, greedy arrows, numbers.
import { svg } from "../shared/dom";
import { fixed, known, prefixed, widest } from "../shared/text";
import type { Direction, Panel, Tables } from "./data";
import { actionsOf, binOf, type Layer } from "./layers";

export const CELL = 40;
const LARGE = 20;
const LONGEST_LABEL = 12;
// longer numbers do not fit into a cell
export const LONGEST_NUMBER = 8;
// how far arrows move away from a label in the corner, and how much of their length is left
const ASIDE = 4;
const SHRUNK = 0.8;

export interface Size {
  rows: number;
  columns: number;
  // room for numbers and names of the rows, and of the columns
  left: number;
  bottom: number;
  width: number;
  height: number;
}

export function sizeOf(panel: Panel): Size {
  const [rows, columns] = [panel.states.length, panel.states[0].length];
  const left = (panel.rowTicks.length ? 26 : 0) + (panel.rowLabel ? 22 : 0);
  const bottom = (panel.columnTicks.length ? 26 : 0) + (panel.columnLabel ? 22 : 0);
  return { rows, columns, left, bottom, width: left + columns * CELL, height: rows * CELL + bottom };
}

// The size of text that fits into a cell.
export function fitted(text: string, base: number, width = CELL): number {
  return Math.min(base, width / widest([text], 1));
}

export class Cells {
  private readonly cells = new Map<string, string>();
  private readonly arrows = new Map<string, string>();
  private readonly texts: SVGElement[] = [];
  private readonly small: boolean;
  private readonly largest: number;
  // whether numbers are longer than fits
  private readonly long: boolean;

  constructor(
    private readonly size: Size,
    private readonly data: Tables,
    private readonly layer: Layer,
  ) {
    this.small = size.columns <= LARGE && size.rows <= LARGE;
    this.largest = Math.max(...layer.domain.map(Math.abs));
    this.long = layer.domain.some((end) => fixed(end, this.largest).length > LONGEST_NUMBER);
  }

  // Equal colours are one path.
  draw(panel: Panel): SVGGElement {
    const labels = new Map(panel.labels.map(([row, column, text]) => [`${row} ${column}`, text]));
    panel.states.forEach((states, row) =>
      states.forEach((state, column) => this.cell(this.size.left + column * CELL, row * CELL, state, labels.get(`${row} ${column}`))),
    );
    return svg("g", { class: this.small ? null : "crisp" },
      [...this.cells].map(([name, d]) => svg("path", { class: name, d })),
      panel.walls.map(([x0, y0, x1, y1]) => svg("line", { class: "between", x1: this.size.left + x0 * CELL, y1: y0 * CELL, x2: this.size.left + x1 * CELL, y2: y1 * CELL })),
      [...this.arrows].map(([name, d]) => svg("path", { class: `${name} arrows`, d })),
      this.texts,
    );
  }

  private cell(x: number, y: number, state: number, label: string | undefined): void {
    const { layer, data, small } = this;
    const [gap, radius] = small ? [1, 3] : [0, 0];
    if (state < 0) {
      add(this.cells, "wall", cellPath(x, y, 0, 0));
      return;
    }
    const value = data.reachable && !data.reachable[state] ? null : layer.values[state];
    if (!known(value)) {
      add(this.cells, "blank", cellPath(x, y, gap, radius));
      if (label !== undefined) this.label(x, y, label, "onblank", true);
      return;
    }
    const color = `${layer.scale}${binOf(layer, value)}`;
    const ink = `${color}i`;
    add(this.cells, color, cellPath(x, y, gap, radius));
    if (label !== undefined) this.label(x, y, label, ink, !layer.greedy && !layer.numbers);
    const labelled = label !== undefined;
    if (layer.greedy && (small || !labelled)) this.greedy(x, y, layer.greedy[state], ink, labelled);
    if (layer.numbers) this.number(x, y, value, ink);
  }

  private number(x: number, y: number, value: number, ink: string): void {
    const text = this.long ? prefixed(value, 3) : fixed(value, this.largest);
    this.text(`${ink} on number`, x + CELL / 2, y + CELL - 8.5, fitted(text, 8.6), text);
  }

  private label(x: number, y: number, long: string, ink: string, centred: boolean): void {
    const text = clipped(long);
    const name = `${ink} on label`;
    if (centred || !this.small) {
      this.text(name, x + CELL / 2, y + CELL / 2, fitted(text, this.small ? 17 : 34), text);
    } else {
      this.text(`${name} corner`, x + 3, y + 7.5, fitted(text, 10), text);
    }
  }

  // Arrows for actions that go somewhere, the names of others; a dot where all is the same.
  private greedy(x: number, y: number, mask: number, ink: string, labelled: boolean): void {
    const { layer, data } = this;
    const chosen = actionsOf(mask, data.actions.length);
    const [cx, cy] = [x + CELL / 2, y + CELL / 2 - (layer.numbers ? 6 : 0)];
    const moves = chosen.map((a) => data.arrows[a]).filter((move) => move !== null);
    const named = chosen.filter((a) => !data.arrows[a]).map((a) => data.actions[a]);
    if (chosen.length === data.actions.length && named.length > 0 && chosen.length > 1) {
      this.texts.push(svg("circle", { class: `${ink} dot`, cx, cy, r: 2.4 }));
      return;
    }
    const reach = (layer.numbers ? 10.5 : 13) * (named.length ? 0.75 : 1) * (labelled ? SHRUNK : 1);
    const [right, down] = labelled ? [ASIDE, layer.numbers || named.length ? 0 : ASIDE] : [0, 0];
    for (const move of moves) {
      add(this.arrows, ink, arrowPath(cx + right, cy + down - (named.length ? 5 : 0), move, moves.length === 1, reach));
    }
    if (!named.length) return;
    const text = clipped(named.join("/"));
    this.text(`${ink} on name`, cx, cy + (moves.length ? 12 : 0), fitted(text, moves.length ? 9 : 12), text);
  }

  private text(name: string, x: number, y: number, size: number, text: string): void {
    this.texts.push(svg("text", { class: name, x, y, "font-size": size }, text));
  }
}

function add(map: Map<string, string>, name: string, path: string): void {
  map.set(name, (map.get(name) ?? "") + path);
}

function clipped(text: string): string {
  return text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}\u2026` : text;
}

function cellPath(x: number, y: number, gap: number, radius: number): string {
  const side = CELL - 2 * gap;
  if (radius === 0) return `M${x + gap} ${y + gap}h${side}v${side}h${-side}z`;
  const [r, s] = [radius, side - 2 * radius];
  const arc = (dx: number, dy: number) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  return `M${x + gap + r} ${y + gap}h${s}${arc(r, r)}v${s}${arc(-r, r)}h${-s}${arc(-r, -r)}v${-s}${arc(r, -r)}z`;
}

// An arrow from the middle of a cell: centred if it is the only one, else pointing outwards.
function arrowPath(cx: number, cy: number, [dx, dy]: Direction, alone: boolean, reach: number): string {
  const norm = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / norm, dy / norm];
  const [tail, tip] = alone ? [-0.75 * reach, 0.75 * reach] : [0.2 * reach, reach];
  const head = 0.42 * reach;
  const point = (along: number, across: number) =>
    `${(cx + along * ux - across * uy).toFixed(1)} ${(cy + along * uy + across * ux).toFixed(1)}`;
  return `M${point(tail, 0)}L${point(tip, 0)}M${point(tip - head, -head)}L${point(tip, 0)}L${point(tip - head, head)}`;
}
