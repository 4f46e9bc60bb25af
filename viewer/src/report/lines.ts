// Three and more hyper-parameters that were swept together as parallel coordinates: one line for each sweep point.
import { el, svg } from "../shared/dom";
import { robustExtent, ticks, type Range } from "../shared/scales";
import { known, prefixed, widest } from "../shared/text";
import type { Sweep, SweepRow } from "./data";
import { distinct, written } from "./grid";

// fewer sweep points are read off their table
const FEW = 6;
const GAP = 210;
const HEIGHT = 300;
const EDGE = { left: 64, right: 72, top: 44, bottom: 18 };
// the size of its text in report.css
const TEXT = 13;
// lines through the same value lie side by side on this share of the room that the value has
const SPREAD = 0.6;
// the low end of the scale is hard to see as a thin line on the page
const FAINT = 0.3;

interface Axis {
  name: string;
  // the height of each row on it, null where it has no value
  heights: (number | null)[];
  labels: [height: number, text: string][];
}

export function sweepLines(sweep: Sweep, score: string, bins: number): HTMLElement | null {
  const { names, rows, tied } = sweep;
  if (names.length < 3 || rows.length <= FEW) return null;
  const varied = names.map((_, side) => side).filter((side) => distinct(rows.map((row) => row.values[side])).length > 1);
  const { range } = robustExtent(rows.map((row) => row.score[0]));
  const axes = [...varied.map((side) => axisOf(names[side], rows, side)), scoreAxis(score, rows, range)];
  const [before, after] = [roomOf(axes[0], EDGE.left), roomOf(axes[axes.length - 1], EDGE.right)];
  const width = before + (axes.length - 1) * GAP + after;
  const height = EDGE.top + HEIGHT + EDGE.bottom;
  // where most sweep points tie, thick lines are a blob and mark nothing
  const marked = 2 * tied <= rows.length ? Math.max(1, tied) : 0;
  const ways = rows.map((row, rank) => way(axes, rank, colorOf(row, range, bins), rank < marked));
  const picture = svg("svg", { class: "parallel", viewBox: `${EDGE.left - before} 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${score} over ${names.join(", ")}; the table below has the numbers` },
    axes.map((_, i) => svg("line", { class: "axis", x1: left(i), x2: left(i), y1: EDGE.top, y2: EDGE.top + HEIGHT })),
    // the best ones lie above the others
    ways.reverse(),
    axes.map((axis, i) => [
      svg("text", { class: "name", x: left(i), y: 18 }, axis.name),
      axis.labels.map(([y, text]) => svg("text", { class: i < axes.length - 1 ? "value" : "scored", x: left(i) + (i < axes.length - 1 ? -8 : 8), y: y + 5 }, text)),
    ]),
  );
  const best = marked ? `; thick: ${tied > 1 ? "those that tie for the best" : "the best one"}` : "";
  return el("div", { class: "pairs" },
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${score} of each sweep point` }, picture),
    el("p", { class: "note" }, `Each line is a sweep point, from its values to its ${score}${best}. Of the lines through one value, those that are higher up in the table lie above.`),
  );
}

// What an axis at an end needs beside it.
function roomOf({ labels }: Axis, least: number): number {
  return Math.max(least, 8 + widest(labels.map(([, text]) => text), TEXT));
}

function left(axis: number): number {
  return EDGE.left + axis * GAP;
}

// Values in their order, each with as much room as any other.
function axisOf(name: string, rows: SweepRow[], side: number): Axis {
  const values = distinct(rows.map((row) => row.values[side]));
  const room = HEIGHT / values.length;
  const middle = (value: number) => EDGE.top + HEIGHT - (values.indexOf(value) + 0.5) * room;
  const heights: (number | null)[] = rows.map(() => null);
  for (const value of values) {
    // rows come in the order of the table
    const through = rows.flatMap((row, rank) => (row.values[side] === value ? [rank] : []));
    through.forEach((rank, i) => {
      heights[rank] = middle(value) + ((i + 0.5) / through.length - 0.5) * SPREAD * room;
    });
  }
  const texts = written(values);
  return { name, heights, labels: values.map((value, i) => [middle(value), texts[i]]) };
}

function scoreAxis(score: string, rows: SweepRow[], [low, high]: Range): Axis {
  const place = (value: number) => EDGE.top + HEIGHT * (1 - shareOf(value, [low, high]));
  const heights = rows.map(({ score: [value] }) => (known(value) ? place(value) : null));
  return { name: score, heights, labels: ticks(low, high, 5).map((value) => [place(value), prefixed(value)]) };
}

function shareOf(value: number, [low, high]: Range): number {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}

function colorOf({ score: [value] }: SweepRow, range: Range, bins: number): string | null {
  return known(value) ? `var(--value${Math.round((bins - 1) * (FAINT + (1 - FAINT) * shareOf(value, range)))})` : null;
}

// A line through all axes; null for a sweep point without a score.
function way(axes: Axis[], rank: number, color: string | null, best: boolean): SVGPathElement | null {
  const heights = axes.map((axis) => axis.heights[rank]);
  if (color === null || !heights.every(known)) return null;
  const [first, ...others] = heights;
  const parts = others.map((y, i) => `C${left(i) + GAP / 2} ${heights[i]} ${left(i) + GAP / 2} ${y} ${left(i + 1)} ${y}`);
  return svg("path", { class: best ? "best" : null, d: `M${left(0)} ${first}${parts.join("")}`, stroke: color });
}
