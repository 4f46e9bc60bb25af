// What each line is, and its value at a report.
import { el, svg } from "../shared/dom";
import { DASH, known, significant } from "../shared/text";
import type { Chart, Series } from "./data";

export function seriesClass(color: number): string {
  if (color < 0) return "series faded";
  return `series series${color}${color > 3 ? " dashed" : ""}`;
}

// A value and its interval.
export function reading(series: Series, report: number): string {
  if (report < 0) return DASH;
  const [low, high] = [series.low?.[report], series.high?.[report]];
  const interval = known(low) ? ` [${significant(low)}, ${significant(high)}]` : "";
  return significant(series.mean[report]) + interval;
}

export function swatch(color: number, evaluated = false): SVGSVGElement {
  const line = svg("line", { class: `${seriesClass(color)} ${evaluated ? "evaluated" : "mean"}`, x1: 1, x2: 25, y1: 5, y2: 5 });
  const dot = evaluated ? svg("circle", { class: `${seriesClass(color)} spot`, cx: 13, cy: 5, r: 3.4 }) : null;
  return svg("svg", { class: "swatch", width: 26, height: 10, "aria-hidden": "true" }, line, dot);
}

function optimumSwatch(): SVGSVGElement {
  const line = svg("line", { class: "series optimum", x1: 1, x2: 25, y1: 5, y2: 5 });
  return svg("svg", { class: "swatch", width: 26, height: 10, "aria-hidden": "true" }, line);
}

export class Legend {
  readonly node: HTMLElement;
  private readonly values: [node: HTMLElement, series: Series, evaluated: boolean][] = [];

  constructor(private readonly chart: Chart) {
    const colored = chart.series.filter((series) => series.color >= 0);
    const faded = chart.series.length - colored.length;
    const evals = chart.evals?.series ?? [];
    const single = chart.series.length === 1;
    const items = colored.map((series) => this.item(series, false));
    if (single) items.push(...evals.map((series) => this.item(series, true)));
    if (known(chart.optimum)) items.push(row(optimumSwatch(), "optimum", el("span", { class: "value" }, significant(chart.optimum))));
    if (faded) items.push(row(swatch(-1), `${faded} more sweep points${chart.left ? `; ${chart.left} are not drawn` : ""}`));
    if (chart.evals && !(single && evals.length)) items.push(row(swatch(-1, true), "greedy evaluations, in the colour of the sweep point"));
    this.node = el("ul", { class: `curvekey${items.length > 1 ? " several" : ""}` }, items);
  }

  // Values at a report; of evaluations those of the last one before it, or of all while nobody points at a report.
  show(report: number, pointed: boolean): void {
    const [step, evaluated] = [this.chart.step[report], this.chart.evals?.step ?? []];
    const before = (pointed ? evaluated.filter((s) => s <= step) : evaluated).length - 1;
    for (const [node, series, ofEvaluation] of this.values) node.replaceChildren(reading(series, ofEvaluation ? before : report));
  }

  private item(series: Series, evaluated: boolean): HTMLElement {
    const value = el("span", { class: "value" });
    this.values.push([value, series, evaluated]);
    return row(swatch(series.color, evaluated), series.name, value);
  }
}

function row(mark: SVGSVGElement, name: string, value: HTMLElement | null = null): HTMLElement {
  return el("li", {}, mark, el("span", { class: "name" }, name), value);
}
