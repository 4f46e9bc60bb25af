// Every point of a sweep as a table, with mean and interval on one scale.
import { el, svg, type Child } from "../shared/dom";
import { robustExtent, type Range } from "../shared/scales";
import { DASH, known, significant, whole } from "../shared/text";
import type { Sweep, SweepRow } from "./data";
import { overlaps, sweepGrid } from "./grid";
import { seriesClass } from "./legend";
import { sweepLines } from "./lines";
import { sectionOf } from "./parts";

const WIDTH = 200;
const EDGE = 8;

export function sweepSection(sweep: Sweep | null, colored: number, bins: number): HTMLElement | null {
  if (!sweep) return null;
  const domain = robustExtent(sweep.rows.flatMap((row) => row.score)).range;
  const errors = sweep.rows.some((row) => known(row.error));
  const score = `${sweep.statistic} ${sweep.score}`;
  const number = (text: string) => el("th", { scope: "col", class: "number" }, text);
  const head = el("tr", {},
    [...sweep.names, "agents", score, "95% interval"].map(number),
    el("th", { scope: "col", class: "wide" }, "on one scale"),
    errors ? number("value error") : null,
    el("th", { scope: "col" }, el("span", { class: "hidden" }, "rank")),
  );
  const rows = sweep.rows.map((row, rank) => pointRow(row, rank, sweep.tied, intervalMark(row, domain, rank < colored ? rank : -1), errors));
  const table = el("table", { class: "sweep" }, el("thead", {}, head), el("tbody", {}, rows));
  const what = errors ? " Value error is the largest error of a state's value, averaged over the agents." : "";
  return sectionOf("sweep", "Sweep points compared", `${orderOf(sweep, score)}${what}`,
    sweepGrid(sweep, score, bins) ?? sweepLines(sweep, score, bins),
    el("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "sweep points compared" }, table),
    sweep.left > 0 ? el("p", { class: "note" }, `The last ${whole(sweep.left)} sweep points of this order are left out.`) : null,
  );
}

// How the sweep points were sorted, and what is marked.
function orderOf(sweep: Sweep, score: string): string {
  const { heldOut, tied, rows } = sweep;
  const sorted = heldOut
    ? `Every point of the sweep. Half of each agent\u2019s episodes chose the order, best first; the ${score} is of the other half, so that no luck of the choice is in it.`
    : `Every point of the sweep, sorted by its ${score}, which is therefore too high for the best one.`;
  const ties = tied > 1 ? ` ${whole(tied)} sweep points tie for the best.` : "";
  const marked = overlaps(sweep) ? " \u201cOverlaps\u201d marks those whose interval overlaps the best one\u2019s: these results do not tell them from it." : "";
  const few = rows.some((row) => known(row.score[1])) ? "" : " So few agents of each give no interval: another sweep point may be as good as the best one.";
  return `${sorted}${ties}${marked}${few}`;
}

function badgeOf(rank: number, tied: number, alike: boolean): HTMLElement | null {
  if (rank < tied && tied > 1) return el("span", { class: "badge" }, "tied best");
  if (rank === 0) return el("span", { class: "badge" }, "best");
  return alike ? el("span", { class: "badge alike" }, "overlaps") : null;
}

function pointRow(row: SweepRow, rank: number, tied: number, mark: SVGSVGElement, errors: boolean): HTMLElement {
  const [mean, low, high] = row.score;
  const number = (text: string) => el("td", { class: "number" }, text);
  const interval = known(low) ? `${significant(low)} to ${significant(high)}` : DASH;
  const cells: Child[] = [
    row.values.map((value) => number(known(value) ? String(value) : DASH)),
    number(whole(row.members)),
    number(significant(mean)),
    number(interval),
    el("td", { class: "wide" }, mark),
    errors ? number(significant(row.error)) : null,
    el("td", {}, badgeOf(rank, tied, row.alike)),
  ];
  return el("tr", { class: rank === 0 ? "best" : null }, cells);
}

function intervalMark({ score: [mean, low, high] }: SweepRow, [first, last]: Range, color: number): SVGSVGElement {
  const share = (value: number) => (Math.min(last, Math.max(first, value)) - first) / (last - first || 1);
  const place = (value: number) => EDGE + share(value) * (WIDTH - 2 * EDGE);
  const name = seriesClass(color);
  const range = known(low) && known(high) ? svg("line", { class: `${name} range`, x1: place(low), x2: place(high), y1: 8, y2: 8 }) : null;
  return svg("svg", { class: "interval", viewBox: `0 0 ${WIDTH} 16`, width: WIDTH, height: 16, "aria-hidden": "true" },
    svg("line", { class: "grid", x1: EDGE, x2: WIDTH - EDGE, y1: 8, y2: 8 }),
    range,
    known(mean) ? svg("circle", { class: `${name} spot`, cx: place(mean), cy: 8, r: 5 }) : null,
  );
}
