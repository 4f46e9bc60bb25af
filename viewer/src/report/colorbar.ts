// What the colours of a map stand for.
import { el, svg } from "../shared/dom";
import { logTicks, ticks } from "../shared/scales";
import { fixed, prefixed, significant } from "../shared/text";
import { shareOf, type Layer } from "./layers";

const WIDTH = 260;
const HEIGHT = 12;
const EDGE = 20;
// numbers that are nearer to each other than this share of the bar run into each other
const APART = 0.13;
const MOST_TICKS = 6;

export function colorBar(layer: Layer, caption: string): HTMLElement {
  const [low, high] = layer.domain;
  const [width, height] = [WIDTH + 2 * EDGE, 34];
  const label = `${caption}: from ${significant(low)} to ${significant(high)}`;
  const colors = Array.from({ length: layer.bins }, (_, i) =>
    svg("rect", { class: `${layer.scale}${i}`, x: EDGE + (i * WIDTH) / layer.bins, y: 0, width: WIDTH / layer.bins + 0.5, height: HEIGHT }),
  );
  const marks = ticksOf(layer).map((value) => {
    const x = EDGE + shareOf(layer, value) * WIDTH;
    const text = layer.log ? prefixed(Math.round(value)) : fixed(value, high - low, 2);
    return [
      svg("line", { class: "tick", x1: x, x2: x, y1: HEIGHT, y2: HEIGHT + 4 }),
      svg("text", { class: "ticklabel", x, y: HEIGHT + 16 }, text),
    ];
  });
  const root = svg("svg", { class: "colorbar", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, colors, marks);
  return el("div", { class: "legend" }, root, el("span", {}, caption));
}

// Both ends, and round numbers between them as far as there is room.
function ticksOf(layer: Layer): number[] {
  const [low, high] = layer.domain;
  if (high <= low) return [low];
  const inner = layer.log ? logTicks(low, high) : ticks(low, high, 5);
  const far = inner.filter((x) => [low, high].every((end) => Math.abs(shareOf(layer, x) - shareOf(layer, end)) > APART));
  return [...far.filter((_, i) => i % Math.ceil(far.length / MOST_TICKS) === 0), low, high];
}
