// What was learned: the map of values with its controls, and the two maps of visits and errors.
import { el } from "../shared/dom";
import { extent } from "../shared/scales";
import { known, significant, whole } from "../shared/text";
import { banditSection } from "./bandit";
import { colorBar } from "./colorbar";
import type { Report, Tables, Value } from "./data";
import { KINDS, Learned, type Kind, type Layer } from "./layers";
import { PanelMap } from "./map";
import { agentSelect, sectionOf, segments } from "./parts";
import { cellReadout } from "./readout";

type Place = [panel: number, row: number, column: number];

interface MapsOptions {
  // pixels for the maps, for one cell, and for one map of many
  room: number;
  cell: number;
  tile: number;
  size: "wide" | "narrow";
  onCell(...place: Place): void;
}

// Panels that show the same kind of value, with its colours.
class Maps {
  readonly node: HTMLElement;
  private readonly maps: PanelMap[];
  private readonly legend = el("div");

  constructor({ data }: Learned, { room, cell, tile, size, onCell }: MapsOptions) {
    const { panels } = data;
    const many = panels.length > 2;
    const each = { room: many ? tile : room / Math.min(2, panels.length), cell, numbers: !many };
    this.maps = panels.map((panel, i) => new PanelMap(panel, data, { ...each, onCell: (row, column) => onCell(i, row, column) }));
    const grid = el("div", { class: `panels${many ? ` many ${size}` : ""}` }, this.maps.map((map) => map.node));
    this.node = el("div", { class: "maps" }, grid, this.legend);
  }

  mark(...[panel, row, column]: Place): void {
    this.maps.forEach((map, i) => map.mark(i === panel));
    this.maps[panel].place(row, column);
  }

  draw(layer: Layer, caption: string): void {
    for (const map of this.maps) map.draw(layer);
    this.legend.replaceChildren(colorBar(layer, caption));
  }
}

// The agent, the kind of value and the cell that the reader looks at.
class LearnedMaps {
  readonly sections: [HTMLElement, HTMLElement | null];
  private readonly learned: Learned;
  private readonly readout = el("div", { class: "readout", "aria-live": "polite" });
  private readonly main: Maps;
  private readonly beside: { maps: Maps; kind: Kind; note: HTMLElement; summary(): string }[] = [];
  private agent;
  private kind: Kind = "value";
  private place: Place;

  constructor(
    private readonly data: Tables,
    bins: number,
  ) {
    this.learned = new Learned(data, bins);
    this.agent = data.agents[0];
    this.place = firstPlace(this.learned);
    this.main = new Maps(this.learned, { room: 680, cell: 84, tile: 240, size: "wide", onCell: this.look });
    this.sections = [this.first(), this.second()];
    this.draw();
  }

  // Read a cell, and mark it on every map.
  private readonly look = (...place: Place): void => {
    this.read(place);
    for (const { maps } of this.beside) maps.mark(...place);
  };

  private read(place: Place): void {
    this.place = place;
    const [panel, row, column] = place;
    this.readout.replaceChildren(...cellReadout(this.data.panels[panel], row, column, this.agent, this.learned));
    this.main.mark(...place);
  }

  private draw(): void {
    this.main.draw(this.learned.layer(this.kind, this.agent), KINDS[this.kind].caption);
    for (const { maps, kind, note, summary } of this.beside) {
      maps.draw(this.learned.layer(kind, this.agent), KINDS[kind].caption);
      note.replaceChildren(`${this.agent.name}: ${summary()}`);
    }
    this.read(this.place);
  }

  private first(): HTMLElement {
    const { data, learned } = this;
    const choose = (i: number) => {
      this.agent = data.agents[i];
      this.draw();
    };
    const show = (kind: Kind) => {
      this.kind = kind;
      this.draw();
    };
    const kinds = learned.kinds.map((kind) => [kind, KINDS[kind].name] as const);
    const controls = el("div", { class: "controls" },
      agentSelect(data.agents, choose),
      kinds.length > 1 ? segments("layer", "What the colours show", kinds, this.kind, show) : null,
    );
    const signs = data.arrows.some((arrow) => arrow !== null) ? "arrows" : "words";
    const lead = `Colour is the value of each state; ${signs} are the greedy actions, all of them where several tie. Point at a cell, or focus the map and use the arrow keys, to read its numbers.`;
    return sectionOf("learned", "What was learned", lead, controls, el("div", { class: "split" }, this.main.node, el("aside", {}, this.readout)));
  }

  private second(): HTMLElement | null {
    const { data, learned } = this;
    const figures: HTMLElement[] = [];
    const add = (kind: Kind, title: string, summary: () => string) => {
      const maps = new Maps(learned, { room: 480, cell: 60, tile: 100, size: "narrow", onCell: this.look });
      const note = el("p", { class: "note" });
      this.beside.push({ maps, kind, note, summary });
      figures.push(el("div", { class: "half" }, el("h3", {}, title), note, maps.node));
    };
    if (data.visited) add("visits", "Where it went", () => visitSummary(learned.shown(this.agent.visits ?? [])));
    if (data.exact) add("error", "How far from the exact values", () => errorSummary(learned.shown(learned.errors(this.agent))));
    if (!figures.length) return null;
    const title = [data.visited ? "visits" : "", data.exact ? "errors" : ""].filter(Boolean).join(" and ");
    return sectionOf("visits", title[0].toUpperCase() + title.slice(1), null, el("div", { class: "halves" }, figures));
  }
}

// The sections of the action values: what was learned, and, far below, visits and errors.
export function learnedSections({ tables, bins }: Report): [HTMLElement | null, HTMLElement | null] {
  if (!tables) return [null, null];
  if ("tooLarge" in tables) return [sectionOf("learned", "What was learned", `${tables.tooLarge} The picture beside this file shows them.`), null];
  return tables.bandit ? [banditSection(tables), null] : new LearnedMaps(tables, bins).sections;
}

// The cell that the read-out begins with: a start, else the first one that is no wall and not terminal.
function firstPlace(learned: Learned): Place {
  const { panels } = learned.data;
  for (const [i, panel] of panels.entries()) {
    const start = panel.labels.find(([row, column, text]) => text === "S" && learned.takesAction(panel.states[row][column]));
    if (start) return [i, start[0], start[1]];
  }
  for (const [i, panel] of panels.entries()) {
    for (const [row, states] of panel.states.entries()) {
      const column = states.findIndex((state) => learned.takesAction(state));
      if (column >= 0) return [i, row, column];
    }
  }
  return [0, 0, 0];
}

function visitSummary(visits: Value[]): string {
  const never = visits.filter((n) => n === 0).length;
  const where = never === 0 ? "every state was visited" : `${whole(never)} of ${whole(visits.length)} states never`;
  const most = extent(visits)?.[1];
  return `the most visited state ${whole(most)} ${most === 1 ? "time" : "times"}; ${where}.`;
}

function errorSummary(errors: Value[]): string {
  const there = errors.filter(known);
  if (!there.length) return "no values to compare.";
  const mean = there.reduce((sum, x) => sum + x, 0) / there.length;
  return `at most ${significant(extent(there)?.[1])}, on average ${significant(mean)} over ${whole(there.length)} states.`;
}
