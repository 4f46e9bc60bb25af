// What the colours of a map show: learned and exact values, their distance, visits.
import { extent, type Range } from "../shared/scales";
import { known, type Maybe } from "../shared/text";
import type { ActionValues, Agent, Tables, Value } from "./data";

export type Kind = "value" | "exact" | "error" | "visits";

export const KINDS: Record<Kind, { name: string; caption: string }> = {
  value: { name: "Learned value", caption: "value learned for the best action, max Q" },
  exact: { name: "Exact value", caption: "exact optimal value, by value iteration" },
  error: { name: "Error", caption: "distance between learned and exact value" },
  visits: { name: "Visits", caption: "visits of each state (logarithmic)" },
};

export interface Layer {
  // of the palette in style.py
  scale: "value" | "error" | "visits";
  // of each state
  values: Maybe[];
  domain: Range;
  log: boolean;
  // how many colours the scale has
  bins: number;
  // of each state the greedy actions as bits, where they are drawn
  greedy: number[] | null;
  // whether values are written into the cells
  numbers: boolean;
}

// The actions whose bit is set.
export function actionsOf(mask: number, count: number): number[] {
  const found: number[] = [];
  for (let a = 0; a < Math.min(count, 52); a += 1) if (Math.floor(mask / 2 ** a) % 2 === 1) found.push(a);
  return found;
}

// From the end of a scale as a share of it.
export function shareOf({ domain: [low, high], log }: Layer, value: number): number {
  const squash = (x: number) => (log ? Math.log1p(Math.max(0, x)) : x);
  return high > low ? (squash(value) - squash(low)) / (squash(high) - squash(low)) : 0.5;
}

export function binOf(layer: Layer, value: number): number {
  return Math.min(layer.bins - 1, Math.max(0, Math.floor(shareOf(layer, value) * layer.bins)));
}

// A problem with several states, and what follows from its tables; each is worked out once.
export class Learned {
  readonly kinds: Kind[];
  private readonly best = new Map<ActionValues, Value[]>();
  private readonly distances = new Map<Agent, Value[]>();

  constructor(
    readonly data: Tables,
    private readonly bins: number,
  ) {
    this.kinds = ["value", ...(data.exact ? (["exact", "error"] as const) : []), ...(data.visited ? (["visits"] as const) : [])];
  }

  // max over the actions, of each state
  values(source: ActionValues): Value[] {
    const found = this.best.get(source) ?? stateValues(source.q, this.data);
    this.best.set(source, found);
    return found;
  }

  get exact(): Value[] | null {
    return this.data.exact && this.values(this.data.exact);
  }

  errors(agent: Agent): Value[] {
    const { exact } = this;
    const distance = (value: Value, state: number) => {
      const right = exact?.[state];
      return known(value) && known(right) ? Math.abs(value - right) : null;
    };
    const found = this.distances.get(agent) ?? this.values(agent).map(distance);
    this.distances.set(agent, found);
    return found;
  }

  takesAction(state: number): boolean {
    return state >= 0 && (!this.data.reachable || this.data.reachable[state] === 1);
  }

  // Only states that are drawn and can be reached count for a colour scale.
  shown<T>(values: T[]): T[] {
    const drawn = new Set(this.data.panels.flatMap((panel) => panel.states.flat()));
    return [...drawn].filter((state) => this.takesAction(state)).map((state) => values[state]);
  }

  layer(kind: Kind, agent: Agent): Layer {
    const base = { bins: this.bins, log: false, greedy: null, numbers: false };
    if (kind === "visits") {
      const visits = agent.visits ?? [];
      const [low, high] = extent(this.shown(visits)) ?? [0, 1];
      return { ...base, scale: "visits", values: visits, domain: [low, Math.max(1, high)], log: true };
    }
    if (kind === "error") {
      const values = this.errors(agent);
      return { ...base, scale: "error", values, domain: [0, extent(this.shown(values))?.[1] ?? 1] };
    }
    const source = (kind === "exact" ? this.data.exact : null) ?? agent;
    const both = [...this.shown(this.values(agent)), ...this.shown(this.exact ?? [])];
    return { ...base, scale: "value", values: this.values(source), domain: extent(both) ?? [0, 1], greedy: source.greedy, numbers: true };
  }
}

function stateValues(q: Value[], { states, actions }: Tables): Value[] {
  const count = actions.length;
  return Array.from({ length: states }, (_, state) => extent(q.slice(state * count, (state + 1) * count))?.[1] ?? null);
}
