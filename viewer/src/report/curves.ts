// The sections of the run's curves: learning curves, and the updates' losses.
import { el } from "../shared/dom";
import { known, significant, whole } from "../shared/text";
import type { Axis } from "./axis";
import { CurveChart } from "./chart";
import type { Chart, Curves, Report } from "./data";
import { swatch } from "./legend";
import { sectionOf, segments } from "./parts";

const HEIGHT = { first: 362, other: 222, loss: 166 };

// losses beyond so many are folded away; those of a known meaning come first
const MANY = 24;

export function curveSection({ curves, sweep }: Report, axis: Axis): HTMLElement | null {
  if (!curves) return null;
  const [first, ...others] = curves.charts;
  const small = others.map((chart) =>
    el("div", { class: "half" }, el("h3", {}, chart.title), new CurveChart(chart, axis, { height: HEIGHT.other }).node),
  );
  const units = [["step", "Steps"], ["seconds", "Time"]] as const;
  const choice = segments("axis", "horizontal axis", units, axis.name, (name) => axis.choose(name));
  return sectionOf("curves", "Learning curves", leadOf(curves, sweep?.tied ?? 1),
    first.seconds ? el("div", { class: "controls" }, choice) : null,
    el("h3", {}, first.title),
    new CurveChart(first, axis, { height: HEIGHT.first }).node,
    small.length ? el("div", { class: "halves" }, small) : null,
  );
}

// Small charts that are read together: a pointer on one shows all values of the same report.
export function lossSection(losses: Curves | null, axis: Axis): HTMLElement | null {
  if (!losses) return null;
  const { series: points, members } = losses.charts[0];
  const several = points.length > 1;
  const items = points.filter((s) => s.color >= 0).map((s) => el("li", {}, swatch(s.color), el("span", { class: "name" }, s.name)));
  const thin = members.length > 1 ? ", thin lines single agents" : "";
  const whose = losses.agents === 1 ? "" : ` Lines are ${losses.statistic === "IQM" ? "interquartile means" : "means"}${thin}.`;
  const numbers = several ? " Numbers are the best sweep point\u2019s." : "";
  const group: CurveChart[] = [];
  const charts = losses.charts.map((chart) => new CurveChart(chart, axis, { height: HEIGHT.loss, small: true, group }));
  const thirds = (some: CurveChart[]) => el("div", { class: "thirds" }, some.map((chart) => el("div", { class: "third" }, chart.node)));
  const folded = charts.slice(MANY);
  return sectionOf("losses", "Losses",
    `What the updates told about themselves, over the same axis as above, and, where that is known, what is usual in a run that learns.${whose}${numbers}`,
    several ? el("ul", { class: "curvekey several" }, items) : null,
    thirds(charts.slice(0, MANY)),
    folded.length ? el("details", {}, el("summary", {}, `${whole(folded.length)} more`), thirds(folded)) : null,
  );
}

function leadOf(curves: Curves, tied: number): string {
  const [first, ...others] = curves.charts;
  const best = known(first.optimum) ? "The dashed line is the optimum: the largest expected return, from the exact model. " : "";
  const flat = others.find((chart) => chart.title === "Return" && first.title === "Episode length");
  const value = flat && significant(flat.series[0].mean.find(known));
  const why = flat ? `Every episode while training returned ${value}, so their lengths, which differ, are shown first. ` : "";
  return `${howDrawn(curves, tied)}${dotsOf(first)}${best}${why}Point at a curve to read it.`;
}

function dotsOf({ evals, series }: Chart): string {
  if (!evals) return "";
  if (evals.step.length > 1 || series.length > 1) return "Large dots are greedy evaluations, the last one after training. ";
  return `The large dot is the greedy evaluation${known(evals.series[0].low?.[0]) ? ", the bar through it its 95% interval" : ""}. `;
}

function howDrawn({ agents, statistic, interval, charts: [{ series, members, left }] }: Curves, tied: number): string {
  if (agents === 1) return "";
  const several = series.length > 1;
  const colored = series.filter(({ color }) => color >= 0).length;
  const grey = left ? `the next ${series.length - colored} thin and grey, the last ${left} not drawn` : "the others thin and grey";
  const which = tied > colored ? `Of the ${whole(tied)} sweep points that tie for the best the first ${colored}` : `The best ${colored} sweep points`;
  const best = colored < series.length ? `${which} are in colour, ${grey}. ` : "";
  const whose = several ? "the agents of each sweep point" : `${whole(agents)} agents`;
  const thin = members.length > 1 ? ", thin lines single agents" : "";
  if (!interval) return `${several ? "Lines are means" : "The thick line is the mean"} over ${whose}${thin}: too few for an interval. ${best}`;
  const iqm = statistic === "IQM";
  const line = iqm ? `interquartile means (IQM: the mean of the middle half) over ${whose}` : `means over ${whose}`;
  return `Lines are ${line}, bands their 95% intervals (${iqm ? "stratified bootstrap" : "Student\u2019s t"})${thin}. ${best}`;
}
