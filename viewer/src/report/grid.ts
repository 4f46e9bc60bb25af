// Two hyper-parameters that were swept together as a heat map: one cell for each pair of values.
import { el, svg } from "../shared/dom";
import { extent } from "../shared/scales";
import { distinctTexts, known, prefixed, significant, widest, type Maybe } from "../shared/text";
import { isPrinting, onPrint } from "../shared/theme";
import { fitted, LONGEST_NUMBER } from "./cells";
import { colorBar } from "./colorbar";
import type { Sweep, SweepRow } from "./data";
import { binOf, type Layer } from "./layers";

// fewer pairs of values are read off their table: 2 x 2 are enough
const LEAST_PAIRS = 4;
// a side with more values does not fit a page
const MOST = 24;
const CELL = { width: 68, height: 40 };
const EDGE = { left: 96, bottom: 54, top: 4, right: 4 };
const TEXT = 16;
// pixels for a label at a row
const LABEL = 72;
// how small a picture may become to fit the page
const LEAST = 0.8;

interface Sides {
  // values of the first name, from left to right, and of the second, from below
  xs: number[];
  ys: number[];
}

export function sweepGrid(sweep: Sweep, score: string, bins: number): HTMLElement | null {
  const sides = sidesOf(sweep);
  if (!sides) return null;
  const values = sweep.rows.map((row) => row.score[0]);
  const base = { log: false, bins, greedy: null, numbers: true } as const;
  const layer: Layer = { ...base, scale: "value", values, domain: extent(values) ?? [0, 1] };
  return el("div", { class: "pairs" },
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${score} of each pair of values` }, picture(sweep, sides, layer, score)),
    el("p", { class: "note" }, `Thick frame: ${sweep.tied > 1 ? "tied for the best" : "the best"}.${overlaps(sweep) ? " Broken frame: its interval overlaps the best one\u2019s." : ""}`),
    colorBar(layer, score),
  );
}

// The sides of a grid that at least half of whose cells were tried; null where there is none.
function sidesOf({ names, rows, left }: Sweep): Sides | null {
  if (names.length !== 2 || rows.length < LEAST_PAIRS || left > 0) return null;
  const [xs, ys] = [0, 1].map((side) => distinct(rows.map((row) => row.values[side])));
  const fits = [xs, ys].every((values) => values.length > 1 && values.length <= MOST);
  return fits && 2 * rows.length >= xs.length * ys.length ? { xs, ys } : null;
}

// Whether a sweep point that is not among the best ones is marked as one that the results do not tell from them.
export function overlaps({ rows, tied }: Sweep): boolean {
  return rows.some((row, rank) => rank >= Math.max(1, tied) && row.alike);
}

export function distinct(values: (number | null)[]): number[] {
  return [...new Set(values.filter(known))].sort((a, b) => a - b);
}

// Values of a hyper-parameter; whole ones are in full, as 1024 is not 1020.
export function written(values: readonly number[]): string[] {
  return distinctTexts(values, (x, digits) => (Number.isInteger(x) ? String(x) : prefixed(x, digits)));
}

// The size in which all of the texts fit.
function sizeFor(texts: readonly string[], width: number): number {
  return Math.min(...texts.map((text) => fitted(text, TEXT, width)));
}

// No narrower than it can be read, unless it is printed, where nothing scrolls.
function legible(root: SVGSVGElement, width: number): SVGSVGElement {
  const limit = () => {
    root.style.minWidth = isPrinting() ? "" : `${LEAST * width}px`;
  };
  limit();
  onPrint(limit);
  return root;
}

function picture({ names, rows, tied }: Sweep, { xs, ys }: Sides, layer: Layer, score: string): SVGSVGElement {
  const [width, height] = [EDGE.left + xs.length * CELL.width + EDGE.right, EDGE.top + ys.length * CELL.height + EDGE.bottom];
  const [middle, foot] = [EDGE.left + (xs.length * CELL.width) / 2, EDGE.top + ys.length * CELL.height];
  const left = (x: number) => EDGE.left + xs.indexOf(x) * CELL.width;
  const top = (y: number) => EDGE.top + (ys.length - 1 - ys.indexOf(y)) * CELL.height;
  const cells = rows.map((row, rank) => {
    const [x, y] = row.values;
    return known(x) && known(y) ? cell(row, left(x), top(y), layer, rank < tied || rank === 0) : null;
  });
  const [across, upward] = [written(xs), written(ys)];
  // beside more than its rows where it is longer than they are high
  const side = fitted(names[1], TEXT, height);
  const center = Math.max((top(ys[0]) + CELL.height + EDGE.top) / 2, widest([names[1]], side) / 2);
  const root = svg("svg", { class: "pairgrid", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${score} over ${names[0]} and ${names[1]}; the table below has the numbers` },
    // the best one's frame is above its neighbours
    [...cells].reverse(),
    svg("g", { class: "ticks" },
      xs.map((x, i) => svg("text", { x: left(x) + CELL.width / 2, y: foot + 17, "font-size": sizeFor(across, CELL.width) }, across[i])),
      ys.map((y, i) => svg("text", { class: "ytick", x: EDGE.left - 8, y: top(y) + CELL.height / 2, "font-size": sizeFor(upward, LABEL) }, upward[i])),
      svg("text", { x: middle, y: foot + 40, "font-size": fitted(names[0], TEXT, xs.length * CELL.width) }, names[0]),
      svg("text", { x: 14, y: center, transform: `rotate(-90 14 ${center})`, "font-size": side }, names[1]),
    ),
  );
  return legible(root, width);
}

function scoreText(value: Maybe): string {
  const text = significant(value);
  return known(value) && text.length > LONGEST_NUMBER ? prefixed(value, 3) : text;
}

function cell(row: SweepRow, x: number, y: number, layer: Layer, best: boolean): SVGGElement {
  const [value] = row.score;
  const color = known(value) ? `${layer.scale}${binOf(layer, value)}` : "blank";
  const ink = known(value) ? `${color}i` : "onblank";
  const text = scoreText(value);
  // the cell's colour is on both sides of its frame, which is as dark as the page, or as light, where the cell is not
  const inset = best ? 5 : 3.5;
  const frame = { class: `${ink} frame ${best ? "best" : "alike"}`, x: x + inset, y: y + inset, width: CELL.width - 2 * inset, height: CELL.height - 2 * inset, rx: 2 };
  return svg("g", {},
    svg("rect", { class: color, x: x + 0.5, y: y + 0.5, width: CELL.width - 1, height: CELL.height - 1, rx: 3 }),
    best || row.alike ? svg("rect", frame) : null,
    svg("text", { class: `${ink} on`, x: x + CELL.width / 2, y: y + CELL.height / 2, "font-size": fitted(text, 14, CELL.width - 3 * inset) }, text),
  );
}
