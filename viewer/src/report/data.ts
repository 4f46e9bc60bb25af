// What the page reads: the JSON that payload.py, learning.py and tables.py write. NaN and infinities are null.
export type Value = number | null;

export interface Report {
  title: string;
  status: string;
  sentence: string;
  headline: { label: string; value: string; note: string }[];
  // how many colours a heat map's scale has
  bins: number;
  // how many curves have a colour of their own
  colored: number;
  tables: Tables | { tooLarge: string } | null;
  curves: Curves | null;
  losses: Curves | null;
  sweep: Sweep | null;
  player: Film | null;
  config: { title: string; rows: [name: string, value: string][] }[];
  command: string | null;
  started: string | null;
}

export interface Tables {
  bandit: boolean;
  states: number;
  actions: string[];
  // which way an action goes on a map, if any
  arrows: (Direction | null)[];
  panels: Panel[];
  // 1 where an action is taken
  reachable: (0 | 1)[] | null;
  exact: ActionValues | null;
  agents: Agent[];
  visited: boolean;
}

export type Direction = [dx: number, dy: number];

export interface ActionValues {
  // [states, actions]
  q: Value[];
  // of each state the greedy actions as bits
  greedy: number[];
}

export interface Agent extends ActionValues {
  name: string;
  // of each state, of a bandit of each action
  visits: Value[] | null;
}

export interface Panel {
  title: string;
  // rows of states; below zero a wall
  states: number[][];
  labels: [row: number, column: number, text: string][];
  // lines between cells, in cells from the upper left corner
  walls: [x0: number, y0: number, x1: number, y1: number][];
  rowLabel: string;
  columnLabel: string;
  rowTicks: string[];
  columnTicks: string[];
}

export interface Curves {
  statistic: "mean" | "IQM";
  interval: boolean;
  agents: number;
  charts: Chart[];
}

export interface Chart {
  title: string;
  // of a learning curve
  unit?: string;
  // of a loss: what a healthy one looks like
  healthy?: string;
  log: boolean;
  // the largest expected return, where returns are drawn and it is known
  optimum: Value;
  step: number[];
  seconds: number[] | null;
  series: Series[];
  // sweep points that are not drawn
  left: number;
  members: { color: number; values: Value[] }[];
  evals: Evaluations | null;
}

export interface Evaluations {
  step: number[];
  seconds: number[] | null;
  series: Series[];
}

export interface Series {
  name: string;
  // of the palette; below zero grey
  color: number;
  mean: Value[];
  low: Value[] | null;
  high: Value[] | null;
}

export interface Sweep {
  names: string[];
  statistic: string;
  score: string;
  // whether the scores are of episodes that had no part in choosing the best
  heldOut: boolean;
  // how many sweep points tie for the best
  tied: number;
  rows: SweepRow[];
  // sweep points left out
  left: number;
}

export interface SweepRow {
  values: Value[];
  members: number;
  score: [mean: Value, low: Value, high: Value];
  // whether it ties with the best, or their intervals overlap
  alike: boolean;
  error: Value;
}

export interface Film {
  // the agent, as a title and in full
  who: [title: string, name: string];
  style: string;
  film: unknown;
}
