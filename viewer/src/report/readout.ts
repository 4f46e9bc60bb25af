// Everything known about one cell of a map.
import { el } from "../shared/dom";
import { significant, whole } from "../shared/text";
import type { Agent, Panel } from "./data";
import { actionsOf, type Learned } from "./layers";

const GLYPHS: Record<string, string> = {
  "0,-1": "\u2191", "1,0": "\u2192", "0,1": "\u2193", "-1,0": "\u2190",
  "1,-1": "\u2197", "1,1": "\u2198", "-1,1": "\u2199", "-1,-1": "\u2196",
};

export function cellReadout(panel: Panel, row: number, column: number, agent: Agent, learned: Learned): HTMLElement[] {
  const state = panel.states[row][column];
  const found: HTMLElement[] = [el("p", { class: "where" }, cellName(panel, row, column))];
  if (panel.title) found.push(note(panel.title));
  if (state < 0) return [...found, note("a wall")];
  if (!learned.takesAction(state)) return [...found, note(`state ${state}, where no action is taken (terminal, or never reached)`)];
  return [...found, note(`state ${state}`), actionTable(state, agent, learned), stateList(state, agent, learned)];
}

function note(text: string): HTMLElement {
  return el("p", { class: "note" }, text);
}

function cellName(panel: Panel, row: number, column: number): string {
  const rows = panel.rowLabel && panel.rowTicks.length ? panel.rowLabel : "row";
  return `${rows} ${panel.rowTicks[row] ?? row}, ${panel.columnLabel || "column"} ${panel.columnTicks[column] ?? column}`;
}

function actionTable(state: number, agent: Agent, { data }: Learned): HTMLElement {
  const { exact, actions, arrows } = data;
  const count = actions.length;
  const [chosen, optimal] = [agent, exact].map((source) => actionsOf(source?.greedy[state] ?? 0, count));
  const value = (x: number | null, best: boolean) => el("td", { class: best ? "chosen" : null }, significant(x));
  const rows = actions.map((name, a) => {
    const glyph = el("span", { class: "glyph", "aria-hidden": "true" }, GLYPHS[arrows[a]?.join(",") ?? ""] ?? "");
    return el("tr", {},
      el("th", { scope: "row" }, glyph, name),
      value(agent.q[state * count + a], chosen.includes(a)),
      exact ? value(exact.q[state * count + a], optimal.includes(a)) : null,
    );
  });
  const names = ["action", "learned", ...(exact ? ["exact"] : [])];
  const head = el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)));
  return el("div", { class: "scroll" }, el("table", { class: "actions" }, el("thead", {}, head), el("tbody", {}, rows)));
}

function stateList(state: number, agent: Agent, learned: Learned): HTMLElement {
  const { exact } = learned;
  const rows: [string, string][] = [["learned value", significant(learned.values(agent)[state])]];
  if (agent.visits) rows.unshift(["visits", whole(agent.visits[state])]);
  if (exact) rows.push(["exact value", significant(exact[state])], ["error", significant(learned.errors(agent)[state])]);
  return el("dl", {}, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
