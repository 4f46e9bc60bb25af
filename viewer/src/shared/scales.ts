// Ranges of values, and round numbers in them.
import { known, type Maybe } from "./text";

export type Range = [low: number, high: number];
export type Extent = { range: Range; cut: boolean };

// numbers whose distance is this share of them at most are the same but for rounding
const SAME = 1e-10;

export function extent(values: Iterable<Maybe>): Range | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!known(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

// The values' range without the few that would flatten all others, and whether any lies outside. What is `kept` lies
// inside in any case, and has no part in what flattens others.
export function robustExtent(values: readonly Maybe[], kept: readonly number[] = []): Extent {
  const sorted = values.filter(known).sort((a, b) => a - b);
  if (!sorted.length) return kept.length ? robustExtent(kept) : { range: [0, 1], cut: false };
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))];
  const [lowest, highest] = [at(0), at(1)];
  const spread = at(0.96) - at(0.04);
  let [low, high] = [lowest, highest];
  if (spread > 0 && at(0.04) - low > 1.5 * spread) low = at(0.04) - 0.1 * spread;
  if (spread > 0 && high - at(0.96) > 1.5 * spread) high = at(0.96) + 0.1 * spread;
  [low, high] = widened([Math.min(low, ...kept), Math.max(high, ...kept)]);
  return { range: [low, high], cut: lowest < low || highest > high };
}

// With room around a single value.
function widened([low, high]: Range): Range {
  if (high - low > SAME * Math.max(Math.abs(low), Math.abs(high))) return [low, high];
  return [low - (Math.abs(low) * 0.1 || 0.5), high + (Math.abs(high) * 0.1 || 0.5)];
}

// What two ranges cover together.
export function joined(a: Extent, b: Extent): Extent {
  const range: Range = [Math.min(a.range[0], b.range[0]), Math.max(a.range[1], b.range[1])];
  return { range, cut: a.cut || b.cut };
}

// Round numbers that cover [low, high] in about `count` steps, which are powers of ten times one of the factors.
export function ticks(low: number, high: number, count: number, factors = [1, 2, 2.5, 5, 10]): number[] {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = factors.map((m) => m * power).find((s) => s >= raw * 0.999) ?? 10 * power;
  const found: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}

// Zero and powers of ten in [low, high], with their doubles and fivefolds where there are few.
export function logTicks(low: number, high: number): number[] {
  const decades = Array.from({ length: 16 }, (_, k) => 10 ** k);
  const within = (found: number[]) => found.filter((x) => x >= low && x <= high);
  const coarse = within([0, ...decades]);
  return coarse.length > 2 ? coarse : within([0, ...decades.flatMap((x) => [x, 2 * x, 5 * x])]);
}
