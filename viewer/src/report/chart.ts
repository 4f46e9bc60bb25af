// One chart: a line and its interval for each series, faint single agents, evaluations as dots, a read-out at the pointer.
import uPlot from "uplot";
import { el } from "../shared/dom";
import { logTicks, ticks, type Range } from "../shared/scales";
import { known, prefixed, widest } from "../shared/text";
import { onPrint, onSystemTheme, variable } from "../shared/theme";
import type { Axis } from "./axis";
import { columnsOf, domainOf } from "./columns";
import type { Chart } from "./data";
import { Legend, reading } from "./legend";
import { responsive } from "./parts";

const EDGE = { top: 12, right: 18, left: 60, bottom: 30 };
// between the axis and its numbers
const GAP = 9;
const KEYS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };

interface Options {
  height: number;
  // small charts have no legend and no label at their axis
  small?: boolean;
  // charts that are read together
  group?: CurveChart[];
}

export class CurveChart {
  readonly node: HTMLElement;
  private readonly columns;
  private readonly domain;
  private readonly host: HTMLElement;
  private readonly at = el("span", { class: "at", "aria-live": "polite" });
  private readonly label = el("p", { class: "xlabel" });
  private readonly rule = el("div", { class: "rule" });
  private readonly legend: Legend | null;
  private readonly group: CurveChart[];
  private readonly small: boolean;
  // the report that is read while nobody points at one
  private readonly end: number;
  private report: number;
  private plot: uPlot | null = null;

  constructor(
    private readonly chart: Chart,
    private readonly axis: Axis,
    private readonly options: Options,
  ) {
    this.small = options.small ?? false;
    this.group = options.group ?? [];
    this.group.push(this);
    this.columns = columnsOf(chart);
    this.domain = domainOf(chart);
    this.legend = this.small ? null : new Legend(chart);
    this.end = this.report = lastKnown(chart);
    this.host = el("div", { class: "chart", tabindex: 0, role: "application" });
    this.listen();
    this.node = this.lay();
    this.rescale();
    axis.onChange(() => this.rescale());
    const repaint = () => this.plot?.redraw(false);
    onSystemTheme(repaint);
    onPrint(repaint);
    responsive(this.host, (width) => this.resize(width));
  }

  // Read a report; the rule marks it.
  private show(report: number, marked: boolean): void {
    this.report = Math.min(this.chart.step.length - 1, Math.max(0, report));
    const place = this.axis.places(this.chart)[this.report];
    this.at.replaceChildren(this.small ? reading(this.chart.series[0], this.report) : this.axis.at(place));
    this.legend?.show(this.report, marked);
    this.rule.classList.toggle("shown", marked);
    if (this.plot) this.rule.style.transform = `translateX(${this.plot.valToPos(place, "x")}px)`;
  }

  private showAll(report: number, marked: boolean): void {
    for (const chart of this.group) chart.show(report, marked);
  }

  private lay(): HTMLElement {
    const { chart, at, host, legend, label } = this;
    const cut = this.domain.cut ? el("p", { class: "note" }, "A few values lie beyond the axis.") : null;
    if (this.small) return el("div", { class: "curve" }, el("h3", {}, chart.title, at), el("p", { class: "note" }, chart.healthy ?? ""), host, cut);
    return el("div", { class: "curve" }, el("p", { class: "unit" }, chart.unit ?? "", at), host, label, legend?.node ?? null, cut);
  }

  private resize(width: number): void {
    const { height } = this.options;
    if (this.plot) {
      this.plot.setSize({ width, height });
    } else {
      this.plot = new uPlot(this.settings(width, height), this.data(), this.host);
      this.plot.over.append(this.rule);
    }
    this.show(this.end, false);
  }

  // Another horizontal axis.
  private rescale(): void {
    const end = this.places[this.places.length - 1];
    this.label.replaceChildren(this.axis.label(end));
    this.host.setAttribute("aria-label", `${this.chart.title} over ${this.axis.name === "step" ? "steps" : "time"}; arrow keys move along the curve`);
    this.plot?.setData(this.data());
    this.show(this.end, false);
  }

  private get places(): number[] {
    return this.axis.places(this.chart);
  }

  private data(): uPlot.AlignedData {
    return [this.columns.xs(this.axis), ...this.columns.ys];
  }

  private settings(width: number, height: number): uPlot.Options {
    const { columns, chart } = this;
    return {
      width,
      height,
      padding: [EDGE.top, EDGE.right, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      series: [{}, ...columns.series],
      bands: columns.bands,
      scales: {
        x: { time: false, range: () => this.axis.range(this.columns.xs(this.axis)) },
        y: { range: padded(this.domain.range, chart.log), ...(chart.log ? { distr: 3 } : {}) },
      },
      axes: [this.horizontal(), this.vertical()],
    };
  }

  private horizontal(): uPlot.Axis {
    const [ink, { axis }] = [() => variable("muted"), this];
    return {
      stroke: ink,
      font: this.font,
      size: EDGE.bottom,
      gap: 5,
      grid: { show: false },
      ticks: { stroke: ink, width: 1, size: 5 },
      border: { show: true, stroke: ink, width: 1 },
      splits: (plot, _, low, high) => axis.splits(low, high, Math.max(2, Math.round(plot.bbox.width / uPlot.pxRatio / 110))),
      values: (plot, splits) => splits.map((place) => axis.tick(place, plot.scales.x.max ?? place)),
    };
  }

  private vertical(): uPlot.Axis {
    const { range } = this.domain;
    const count = Math.max(4, Math.round(this.options.height / 55));
    return {
      stroke: () => variable("muted"),
      font: this.font,
      size: (_, texts: string[] | null) => Math.max(EDGE.left, GAP + widest(texts ?? [], this.textSize)),
      gap: GAP,
      grid: { stroke: () => variable("line"), width: 1 },
      ticks: { show: false },
      // of uPlot's own steps none is as large as those of huge values need: `splits` chooses others
      incrs: (_, __, low, high) => [Math.max(5, high - low)],
      splits: () => (this.chart.log ? logTicks(...range) : ticks(...range, count)),
      filter: (_, splits) => splits,
      values: (_, splits) => splits.map((value) => prefixed(value)),
    };
  }

  private get textSize(): number {
    return this.small ? 12 : 13;
  }

  private get font(): string {
    return `${this.textSize}px ${getComputedStyle(document.body).fontFamily}`;
  }

  // What the pointer and keys do.
  private listen(): void {
    const { host } = this;
    host.addEventListener("pointermove", (event) => this.point(event));
    host.addEventListener("pointerdown", (event) => this.point(event));
    host.addEventListener("pointerleave", () => this.showAll(this.end, false));
    host.addEventListener("focus", () => this.showAll(this.report, true));
    host.addEventListener("blur", () => this.showAll(this.end, false));
    host.addEventListener("keydown", (event) => {
      const step = KEYS[event.key];
      if (step === undefined) return;
      event.preventDefault();
      this.showAll(this.report + step, true);
    });
  }

  // To the report that is nearest to the pointer.
  private point(event: PointerEvent): void {
    const { plot, places } = this;
    if (!plot) return;
    const pointed = plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x");
    const far = (report: number) => Math.abs(places[report] - pointed);
    let nearest = 0;
    places.forEach((_, report) => {
      if (far(report) < far(nearest)) nearest = report;
    });
    this.showAll(nearest, true);
  }
}

// The last report at which something is known.
function lastKnown(chart: Chart): number {
  const last = chart.step.length - 1;
  for (let i = last; i >= 0; i -= 1) if (chart.series.some((series) => known(series.mean[i]))) return i;
  return last;
}

// With some room above and below.
function padded([low, high]: Range, log: boolean): Range {
  const factor = high > low ? (high / low) ** 0.04 : 1.5;
  if (log) return [low / factor, high * factor];
  const room = 0.04 * (high - low);
  return [low - room, high + room];
}
