// A chart's numbers as uPlot reads them: columns over common rows, drawn in their order, and bands between two of them.
import uPlot from "uplot";
import { extent, joined, robustExtent, type Range } from "../shared/scales";
import { known, type Maybe } from "../shared/text";
import { variable } from "../shared/theme";
import type { Axis } from "./axis";
import type { Chart, Series, Value } from "./data";

const FEW_AGENTS = 4;
const MANY_DOTS = 60;
// a line of so few values has a dot at each
const FEW_VALUES = 20;
const DOT = 6.8;
// half the width of a whisker's ends
const CAP = 4;
// of a value that no line reaches, in widths of the line
const ALONE = 2.5;
// from this colour of the palette on lines are dashed
const DASHED = 4;

// A value, null where it is not known, undefined in rows that are not its own, over which lines go.
type Column = Maybe[];

export interface Columns {
  // the row of each report
  rows: number[];
  xs(axis: Axis): number[];
  ys: Column[];
  series: uPlot.Series[];
  bands: uPlot.Band[];
}

// Reports and evaluations in the order of their steps: one row for each step at which there is either.
export function columnsOf(chart: Chart): Columns {
  const evals = chart.evals;
  const steps = [...new Set([...chart.step, ...(evals?.step ?? [])])].sort((a, b) => a - b);
  const rowOf = new Map(steps.map((step, row) => [step, row]));
  const rowsOf = (own: number[]) => own.map((step) => rowOf.get(step) ?? 0);
  const spread = (rows: number[], values: Value[]) => {
    const column = new Array<Maybe>(steps.length).fill(undefined);
    rows.forEach((row, i) => (column[row] = values[i]));
    return column;
  };
  const rows = rowsOf(chart.step);
  const layers = new Layers(chart);
  const report = (values: Value[]) => spread(rows, values);
  const evaluation = (values: Value[]) => spread(evalRows, values);
  const evalRows = evals ? rowsOf(evals.step) : [];
  for (const series of [...chart.series].reverse()) layers.band(series, report);
  if (evals && hasIntervals(chart)) {
    for (const series of evals.series) {
      layers.band(series, evaluation);
      layers.whiskers(series, evaluation);
    }
  }
  for (const member of chart.members) layers.member(member.color, report(member.values));
  for (const series of [...chart.series].reverse()) layers.mean(series, report(series.mean));
  for (const series of [...(evals?.series ?? [])].reverse()) layers.evaluated(series, evaluation(series.mean));
  if (known(chart.optimum)) layers.optimum(new Array<Maybe>(steps.length).fill(chart.optimum));
  const seconds = new Array<number>(steps.length).fill(0);
  if (evals?.seconds) evalRows.forEach((row, i) => (seconds[row] = evals.seconds?.[i] ?? 0));
  rows.forEach((row, i) => (seconds[row] = chart.seconds?.[i] ?? 0));
  const xs = (axis: Axis) => (axis.name === "seconds" && chart.seconds ? seconds : steps);
  return { rows, xs, ys: layers.ys, series: layers.series, bands: layers.bands };
}

// Whether intervals of evaluations are drawn: those of several sweep points would hide each other.
function hasIntervals(chart: Chart): boolean {
  return chart.series.length === 1;
}

// The values that the vertical axis covers, and whether some lie beyond it. Evaluations are judged by themselves: they are
// few, and may lie far from what is seen while training, as may the optimum.
export function domainOf(chart: Chart): { range: Range; cut: boolean } {
  const evaluated = chart.evals?.series ?? [];
  const optimum = known(chart.optimum) ? [chart.optimum] : [];
  const members = chart.members.flatMap((member) => member.values);
  if (chart.log) {
    const means = [...chart.series, ...evaluated].flatMap((series) => series.mean);
    const [low, high] = extent([...members, ...means]) ?? [1, 10];
    const top = extent(means)?.[1] ?? high;
    const cut = [...members, ...colored(chart.series, true)].some((value) => known(value) && value > 1.1 * top);
    return { range: [low, top], cut };
  }
  const means = chart.series.flatMap((series) => series.mean);
  const trained = robustExtent([...means, ...colored(chart.series, true), ...members], optimum);
  const plotted = colored(evaluated, hasIntervals(chart));
  return plotted.some(known) ? joined(trained, robustExtent(plotted)) : trained;
}

// The values of those series that have a colour, with their intervals or without.
function colored(series: readonly Series[], banded: boolean): Maybe[] {
  const chosen = series.filter((s) => s.color >= 0);
  const intervals = banded ? chosen.flatMap((s) => [...(s.low ?? []), ...(s.high ?? [])]) : [];
  return [...chosen.flatMap((s) => s.mean), ...intervals];
}

class Layers {
  readonly ys: Column[] = [];
  readonly series: uPlot.Series[] = [];
  readonly bands: uPlot.Band[] = [];
  private readonly crowded: boolean;
  private readonly few: boolean;
  // where a band that reaches below a logarithmic axis ends
  private readonly foot: number;

  constructor(chart: Chart) {
    this.crowded = chart.series.length > 1;
    this.few = chart.members.length < FEW_AGENTS;
    this.foot = chart.log ? domainOf(chart).range[0] / 2 : -Infinity;
  }

  band({ color, low, high }: Series, column: (values: Value[]) => Column): void {
    if (!low || !high) return;
    const edge = { width: 0, alpha: this.crowded ? 0.12 : 0.2, points: { show: false } };
    const above = this.add(column(high).map(this.floored), edge);
    const below = this.add(column(low).map(this.floored), edge);
    this.bands.push({ series: [above, below], fill: () => colorOf(color) });
  }

  // The interval of a value that stands alone, where a band has no width.
  whiskers({ color, mean, low, high }: Series, column: (values: Value[]) => Column): void {
    if (!low || !high) return;
    const alone = aloneIn(column(mean));
    if (!alone.length) return;
    const [lows, highs] = [column(low), column(high)];
    const paths: uPlot.Series.PathBuilder = (plot) => ({ stroke: whiskerPath(plot, alone, lows, highs) });
    this.add(highs, { stroke: () => colorOf(color), width: 1.4, points: { show: false }, paths });
  }

  member(color: number, values: Column): void {
    const alpha = this.crowded ? 0.13 : this.few ? 0.6 : 0.2;
    const stroke = () => thinned(color, alpha);
    const line = lineOf(color, values, { width: 1 });
    this.add(values, { ...line, stroke, points: { ...line.points, fill: stroke } });
  }

  mean({ color }: Series, values: Column): void {
    const line = color < 0 ? { width: 1, alpha: 0.4 } : { width: 2.4 };
    this.add(values, lineOf(color, values, color >= DASHED ? { ...line, dash: [7, 5] } : line));
  }

  optimum(values: Column): void {
    this.add(values, { stroke: () => colorOf(-1), width: 1.4, dash: [8, 4], points: { show: false } });
  }

  evaluated({ color }: Series, values: Column): void {
    const line = lineOf(color, values, { width: 1.4, dash: [2, 4] });
    const dots = values.filter((value) => value !== undefined).length <= MANY_DOTS;
    const points = { ...line.points, show: dots, size: DOT, width: 0 };
    this.add(values, { ...line, points: dots ? { ...points, filter: () => null } : points });
  }

  private readonly floored = (value: Maybe): Maybe => (known(value) ? Math.max(value, this.foot) : value);

  private add(values: Column, series: uPlot.Series): number {
    this.ys.push(values);
    this.series.push({ ...series, pxAlign: 0 });
    return this.ys.length;
  }
}

function lineOf(color: number, values: Column, line: { width: number; alpha?: number; dash?: number[] }): uPlot.Series {
  const [stroke, alone] = [() => colorOf(color), dottedIn(values)];
  const points = { show: false, filter: () => alone, size: ALONE * line.width, width: 0, fill: stroke };
  return { ...line, cap: "round", stroke, points };
}

// The rows of values that have a dot: all of few, or else those between two unknown ones, which no line reaches.
function dottedIn(values: Column): number[] | null {
  const all = [...values.keys()].filter((row) => known(values[row]));
  if (all.length && all.length <= FEW_VALUES) return all;
  const found = aloneIn(values);
  return found.length ? found : null;
}

// The rows of known values between two unknown ones.
function aloneIn(values: Column): number[] {
  const own = [...values.keys()].filter((row) => values[row] !== undefined);
  return own.filter((row, i) => [own[i - 1], own[i + 1]].every((next) => next === undefined || !known(values[next])) && known(values[row]));
}

// From low to high at each of the rows, as far as the axis goes.
function whiskerPath(plot: uPlot, rows: number[], lows: Column, highs: Column): Path2D {
  const path = new Path2D();
  const { top, height } = plot.bbox;
  const cap = CAP * uPlot.pxRatio;
  for (const row of rows) {
    const ends = [lows[row], highs[row]].filter(known);
    if (ends.length < 2) continue;
    const x = plot.valToPos(plot.data[0][row], "x", true);
    const [foot, head] = ends.map((end) => Math.min(top + height, Math.max(top, plot.valToPos(end, "y", true))));
    path.moveTo(x, foot);
    path.lineTo(x, head);
    for (const y of [foot, head]) {
      path.moveTo(x - cap, y);
      path.lineTo(x + cap, y);
    }
  }
  return path;
}

// A colour of which so much is seen on a light page, and more on a dark one.
function thinned(color: number, share: number): string {
  const shown = Math.min(1, share * Number(variable("thin")));
  return colorOf(color) + Math.round(255 * shown).toString(16).padStart(2, "0");
}

function colorOf(color: number): string {
  return variable(color < 0 ? "muted" : `series${color}`);
}
