// What the colours of a map stand for.
import { el, svg } from "../shared/dom";
import { logTicks, ticks } from "../shared/scales";
import { distinctTexts, fixed, prefixed, significant, widest } from "../shared/text";
import { shareOf, type Layer } from "./layers";

const WIDTH = 260;
const HEIGHT = 12;
const EDGE = 20;
// the size of its text in report.css
const TEXT = 12;
// round numbers are at least this share of the bar away from its ends, and texts so many pixels from each other
const MARGIN = 0.13;
const GAP = 2;
const MOST_TICKS = 6;
// numbers of more characters have a unit, or an exponent
const LONGEST = 7;

interface Mark {
  x: number;
  // the middle of its text, which lies inside the picture
  middle: number;
  text: string;
}

export function colorBar(layer: Layer, caption: string): HTMLElement {
  const [low, high] = layer.domain;
  const [width, height] = [WIDTH + 2 * EDGE, 34];
  const label = `${caption}: from ${significant(low)} to ${significant(high)}`;
  const colors = Array.from({ length: layer.bins }, (_, i) =>
    svg("rect", { class: `${layer.scale}${i}`, x: EDGE + (i * WIDTH) / layer.bins, y: 0, width: WIDTH / layer.bins + 0.5, height: HEIGHT }),
  );
  const marks = marksOf(layer).map(({ x, middle, text }) => [
    svg("line", { class: "tick", x1: x, x2: x, y1: HEIGHT, y2: HEIGHT + 4 }),
    svg("text", { class: "ticklabel", x: middle, y: HEIGHT + 16 }, text),
  ]);
  const root = svg("svg", { class: "colorbar", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, colors, marks);
  return el("div", { class: "legend" }, root, el("span", {}, caption));
}

// Both ends, and round numbers between them as far as there is room.
function marksOf(layer: Layer): Mark[] {
  const [low, high] = layer.domain;
  const ends = high > low ? [low, high] : [low];
  const plain = (x: number) => fixed(x, high - low || Math.abs(low), 2);
  const short = !layer.log && ends.every((end) => plain(end).length <= LONGEST);
  // visits are averages of whole numbers
  const units = distinctTexts(layer.log ? ends.map(Math.round) : ends, prefixed);
  const marks = ends.map((end, i) => markOf(layer, end, short ? plain(end) : units[i]));
  for (const value of ticksOf(layer)) {
    const mark = markOf(layer, value, short ? plain(value) : prefixed(value));
    if (marks.every((other) => clear(mark, other))) marks.push(mark);
  }
  return marks;
}

function markOf(layer: Layer, value: number, text: string): Mark {
  const [x, half] = [EDGE + shareOf(layer, value) * WIDTH, widest([text], TEXT) / 2];
  return { x, middle: Math.min(WIDTH + 2 * EDGE - half, Math.max(half, x)), text };
}

function clear(one: Mark, other: Mark): boolean {
  return Math.abs(one.middle - other.middle) >= (widest([one.text], TEXT) + widest([other.text], TEXT)) / 2 + GAP;
}

// Round numbers that are not near the ends: of two digits at most, as the numbers at the ends are.
function ticksOf(layer: Layer): number[] {
  const [low, high] = layer.domain;
  if (high <= low) return [];
  const inner = layer.log ? logTicks(low, high) : ticks(low, high, 5, [1, 2, 5, 10]);
  const far = inner.filter((x) => [low, high].every((end) => Math.abs(shareOf(layer, x) - shareOf(layer, end)) > MARGIN));
  return far.filter((_, i) => i % Math.ceil(far.length / MOST_TICKS) === 0);
}
