// A problem of one state: one bar for each action instead of a map.
import { el, svg } from "../shared/dom";
import { extent, ticks } from "../shared/scales";
import { known, prefixed, significant, whole, widest } from "../shared/text";
import type { Agent, Tables, Value } from "./data";
import { actionsOf } from "./layers";
import { agentSelect, responsive, sectionOf, segments } from "./parts";

const HEIGHT = 300;
const EDGE = { top: 14, right: 8, bottom: 44, left: 52 };
// the size of its text in report.css
const TEXT = 13;
// how many pixels a number under a bar needs
const NUMBER = 26;

type Kind = "value" | "visits";

class BanditBars {
  readonly node = el("div", { class: "plot" });
  readonly reading = el("p", { class: "note reading", "aria-live": "polite" });
  private agent: Agent;
  private kind: Kind = "value";
  private width = 0;

  constructor(private readonly data: Tables) {
    this.agent = data.agents[0];
    responsive(this.node, (width) => {
      this.width = width;
      this.draw();
    });
  }

  choose(agent: Agent): void {
    this.agent = agent;
    this.draw();
  }

  look(kind: Kind): void {
    this.kind = kind;
    this.draw();
  }

  private get values(): Value[] {
    return (this.kind === "visits" ? this.agent.visits : null) ?? this.agent.q;
  }

  private draw(): void {
    const greedy = actionsOf(this.agent.greedy[0], this.data.actions.length);
    if (this.width) this.node.replaceChildren(this.drawing(new Set(greedy)));
    this.read(greedy[0] ?? 0);
  }

  private read(action: number): void {
    const { agent, data } = this;
    const parts = [`${data.actions[action]}: learned ${significant(agent.q[action])}`];
    if (data.exact) parts.push(`exact ${significant(data.exact.q[action])}`);
    if (agent.visits) parts.push(`chosen ${whole(agent.visits[action])} times`);
    this.reading.replaceChildren(parts.join(", "));
  }

  private drawing(greedy: Set<number>): SVGSVGElement {
    const { width, data, values } = this;
    const exact = this.kind === "value" ? (data.exact?.q ?? []) : [];
    const [low, high] = extent([0, ...values, ...exact]) ?? [0, 1];
    const room = (high - low || 1) * 0.06;
    const [bottom, top] = [low < 0 ? low - room : 0, high + room];
    const plot = HEIGHT - EDGE.top - EDGE.bottom;
    const y = (value: number) => EDGE.top + ((top - value) / (top - bottom)) * plot;
    const what = this.kind === "visits" ? "visits" : "values";
    const marks = ticks(bottom, top, 5);
    const left = Math.max(EDGE.left, 8 + widest(marks.map((t) => prefixed(t)), TEXT));
    const step = (width - left - EDGE.right) / data.actions.length;
    const axis = marks.map((t) => [
      svg("line", { class: t === 0 ? "axis" : "grid", x1: left, x2: width - EDGE.right, y1: y(t), y2: y(t) }),
      svg("text", { class: "ytick", x: left - 8, y: y(t) }, prefixed(t)),
    ]);
    const bars = data.actions.map((name, a) => this.bar(name, a, left + a * step, step, y, greedy.has(a), exact[a]));
    const numbers = data.actions.map((_, a) => {
      const x = left + (a + 0.5) * step;
      return a % Math.ceil(NUMBER / step) === 0 ? svg("text", { class: "xtick", x, y: HEIGHT - EDGE.bottom + 18 }, String(a)) : null;
    });
    const size = { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT };
    return svg("svg", { class: "bars", ...size, role: "group", "aria-label": `${what} of ${data.actions.length} actions` },
      axis, bars, numbers,
      svg("text", { class: "xlabel", x: left + (width - left) / 2, y: HEIGHT - 6 }, "action"),
    );
  }

  private bar(name: string, action: number, left: number, step: number, y: (value: number) => number, greedy: boolean, exact: Value | undefined): SVGGElement {
    const value = this.values[action];
    const [x, width] = [left + step * 0.16, step * 0.68];
    const box = known(value) ? { x, y: Math.min(y(value), y(0)), width, height: Math.max(1, Math.abs(y(value) - y(0))), rx: 2 } : null;
    const node = svg("g", { class: "bar", tabindex: 0, role: "img", "aria-label": `${name}: ${significant(value)}` },
      svg("rect", { class: "hit", x: left, y: EDGE.top, width: step, height: HEIGHT - EDGE.top - EDGE.bottom }),
      box ? svg("rect", { class: greedy ? "body greedy" : "body", ...box }) : null,
      known(exact) ? svg("line", { class: "exactmark", x1: x - 3, x2: x + width + 3, y1: y(exact), y2: y(exact) }) : null,
    );
    for (const kind of ["pointerenter", "focus", "pointerdown"]) node.addEventListener(kind, () => this.read(action));
    return node;
  }
}

export function banditSection(data: Tables): HTMLElement {
  const bars = new BanditBars(data);
  const kinds = [["value", "Learned value"], ["visits", "Times chosen"]] as const;
  const controls = el("div", { class: "controls" },
    agentSelect(data.agents, (i) => bars.choose(data.agents[i])),
    data.visited ? segments<Kind>("layer", "What the bars show", kinds, "value", (kind) => bars.look(kind)) : null,
  );
  const key = el("ul", { class: "key" },
    el("li", { class: "greedybar" }, "greedy action"),
    el("li", { class: "otherbar" }, "other actions"),
    data.exact ? el("li", { class: "exactline" }, "exact value") : null,
  );
  return sectionOf("learned", "What was learned", "One state, so one bar for each action. Point at a bar to read its numbers.", controls, bars.node, key, bars.reading);
}
