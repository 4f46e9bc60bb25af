// What was learned: the heat map with its controls, and the two maps of visits and errors.
const LAYERS = {
  value: { name: "Learned value", caption: "value learned for the best action, max Q" },
  exact: { name: "Exact value", caption: "exact optimal value, by value iteration" },
  error: { name: "Error", caption: "distance between learned and exact value" },
  visits: { name: "Visits", caption: "visits of each state (logarithmic)" },
};

function best(q, state, actions) {
  let top = null;
  for (let a = 0; a < actions; a += 1) {
    const value = q[state * actions + a];
    if (known(value) && (top === null || value > top)) top = value;
  }
  return top;
}

function stateValues(q, data) {
  return Array.from({ length: data.states }, (_, s) => best(q, s, data.actions.length));
}

function learned(agent, data) {
  agent.values ??= stateValues(agent.q, data);
  return agent.values;
}

function exactValues(data) {
  data.exact.values ??= stateValues(data.exact.q, data);
  return data.exact.values;
}

function errors(agent, data) {
  const exact = exactValues(data);
  agent.errors ??= learned(agent, data).map((v, s) => (known(v) && known(exact[s]) ? Math.abs(v - exact[s]) : null));
  return agent.errors;
}

// Only states that are drawn and can be reached count for a colour scale.
function shownStates(data) {
  const shown = new Set(data.panels.flatMap((panel) => panel.states.flat()).filter((s) => s >= 0));
  return [...shown].filter((s) => !data.reachable || data.reachable[s]);
}

function layerOf(kind, agent, data, bins) {
  const shown = shownStates(data);
  const pick = (values) => shown.map((s) => values[s]);
  if (kind === "visits") {
    const [low, high] = extent(pick(agent.visits)) ?? [0, 1];
    return { scale: "visits", values: agent.visits, domain: [low, Math.max(1, high)], log: true, bins };
  }
  if (kind === "error") {
    const values = errors(agent, data);
    return { scale: "error", values, domain: [0, (extent(pick(values)) ?? [0, 1])[1]], bins };
  }
  const both = pick(learned(agent, data)).concat(data.exact ? pick(exactValues(data)) : []);
  const source = kind === "exact" ? data.exact : agent;
  const values = kind === "exact" ? exactValues(data) : learned(agent, data);
  return { scale: "value", values, greedy: source.greedy, domain: extent(both) ?? [0, 1], bins, numbers: true };
}

const GLYPHS = { "0,-1": "\u2191", "1,0": "\u2192", "0,1": "\u2193", "-1,0": "\u2190", "1,-1": "\u2197", "1,1": "\u2198", "-1,1": "\u2199", "-1,-1": "\u2196" };

function cellName(panel, row, column) {
  const named = (label, ticks, i, word) => `${label || word} ${ticks[i] ?? i}`;
  return `${named(panel.rowLabel && panel.rowTicks.length ? panel.rowLabel : "", panel.rowTicks, row, "row")}, ${named(panel.columnLabel, panel.columnTicks, column, "column")}`;
}

// Everything known about one cell.
function cellReadout(panel, row, column, agent, data) {
  const state = panel.states[row][column];
  const title = [el("p", { class: "where" }, cellName(panel, row, column)), panel.title ? el("p", { class: "note" }, panel.title) : null];
  if (state < 0) return [...title, el("p", { class: "note" }, "a wall")];
  const body = [el("p", { class: "note" }, `state ${state}${data.reachable && !data.reachable[state] ? ", where no action is taken (terminal, or never reached)" : ""}`)];
  if (!data.reachable || data.reachable[state]) body.push(actionTable(state, agent, data), stateTable(state, agent, data));
  return [...title, ...body];
}

function actionTable(state, agent, data) {
  const count = data.actions.length;
  const chosen = new Set(actionsOf(agent.greedy[state], count));
  const optimal = data.exact ? new Set(actionsOf(data.exact.greedy[state], count)) : new Set();
  const rows = data.actions.map((name, a) => {
    const glyph = data.arrows[a] ? GLYPHS[data.arrows[a].join(",")] ?? "" : "";
    const exact = data.exact ? el("td", { class: optimal.has(a) ? "chosen" : null }, short(data.exact.q[state * count + a])) : null;
    return el("tr", {}, el("th", { scope: "row" }, el("span", { class: "glyph", "aria-hidden": "true" }, glyph), name), el("td", { class: chosen.has(a) ? "chosen" : null }, short(agent.q[state * count + a])), exact);
  });
  const head = el("tr", {}, el("th", { scope: "col" }, "action"), el("th", { scope: "col" }, "learned"), data.exact ? el("th", { scope: "col" }, "exact") : null);
  return el("div", { class: "scroll" }, el("table", { class: "actions" }, el("thead", {}, head), el("tbody", {}, rows)));
}

function stateTable(state, agent, data) {
  const list = el("dl", {});
  const add = (name, value) => list.append(el("dt", {}, name), el("dd", {}, value));
  if (agent.visits) add("visits", whole(agent.visits[state]));
  add("learned value", short(learned(agent, data)[state]));
  if (data.exact) {
    add("exact value", short(exactValues(data)[state]));
    add("error", short(errors(agent, data)[state]));
  }
  return list;
}

// The cell that the read-out begins with: a start, else the first one that is no wall and not terminal.
function firstCell(data) {
  const live = (s) => s >= 0 && (!data.reachable || data.reachable[s]);
  for (const [index, panel] of data.panels.entries()) {
    const start = panel.labels.find(([r, c, text]) => text === "S" && live(panel.states[r][c]));
    if (start) return [index, start[0], start[1]];
  }
  for (const [index, panel] of data.panels.entries()) {
    for (const [r, row] of panel.states.entries()) {
      const c = row.findIndex(live);
      if (c >= 0) return [index, r, c];
    }
  }
  return [0, 0, 0];
}

// A group of panels that show the same kind of value, with its colour bar.
function makeMaps(data, options) {
  const many = data.panels.length > 2;
  const maps = data.panels.map((panel, index) => makePanel(panel, data, { room: many ? options.tile : options.room / Math.min(2, data.panels.length), cell: options.cell, numbers: !many, onCell: (r, c) => options.onCell(index, r, c) }));
  const legend = el("div", {});
  const grid = el("div", { class: `panels${many ? ` many ${options.size}` : ""}` }, maps.map((map) => map.node));
  return {
    node: el("div", { class: "maps" }, grid, legend),
    mark(index, r, c) {
      maps.forEach((map, i) => map.mark(i === index));
      maps[index].place(r, c);
    },
    draw(layer, caption) {
      maps.forEach((map) => map.draw(layer));
      legend.replaceChildren(colorBar(layer, caption));
    },
  };
}

function agentSelect(data, onChange) {
  const select = el("select", { id: "agent" }, data.agents.map((agent, i) => el("option", { value: i }, agent.name)));
  select.addEventListener("change", () => onChange(Number(select.value)));
  return el("div", { class: "field" }, el("label", { for: "agent" }, "Agent"), select);
}

function mapSections(data, bins) {
  const look = { agent: data.agents[0], kind: "value", cell: firstCell(data) };
  const readout = el("div", { class: "readout", "aria-live": "polite" });
  const redraws = [], marks = [];
  const onCell = (index, r, c, marked = marks) => {
    look.cell = [index, r, c];
    readout.replaceChildren(...cellReadout(data.panels[index], r, c, look.agent, data).filter(Boolean));
    marked.forEach((mark) => mark(index, r, c));
  };
  const redraw = () => {
    redraws.forEach((draw) => draw());
    onCell(...look.cell, marks.slice(0, 1));
  };
  const main = makeMaps(data, { room: 680, cell: 84, tile: 240, size: "wide", onCell });
  redraws.push(() => main.draw(layerOf(look.kind, look.agent, data, bins), LAYERS[look.kind].caption));
  marks.push(main.mark);
  const kinds = ["value", ...(data.exact ? ["exact", "error"] : []), ...(data.visited ? ["visits"] : [])];
  const controls = el("div", { class: "controls" },
    data.agents.length > 1 ? agentSelect(data, (i) => { look.agent = data.agents[i]; redraw(); }) : null,
    kinds.length > 1 ? segments("layer", "What the colours show", kinds.map((kind) => [kind, LAYERS[kind].name]), look.kind, (kind) => { look.kind = kind; redraw(); }) : null);
  const signs = data.arrows.some(known) ? "arrows" : "words";
  const lead = `Colour is the value of each state; ${signs} are the greedy actions, all of them where several tie. Point at a cell, or focus the map and use the arrow keys, to read its numbers.`;
  const first = sectionOf("learned", "What was learned", lead, controls, el("div", { class: "split" }, main.node, el("aside", {}, readout)));
  const second = sideMaps(data, bins, look, redraws, marks, onCell);
  redraw();
  return [first, second];
}

function sideMaps(data, bins, look, redraws, marks, onCell) {
  const figures = [];
  const add = (kind, title, summary) => {
    const maps = makeMaps(data, { room: 480, cell: 60, tile: 100, size: "narrow", onCell });
    const note = el("p", { class: "note" });
    redraws.push(() => {
      maps.draw(layerOf(kind, look.agent, data, bins), LAYERS[kind].caption);
      note.replaceChildren(`${look.agent.name}: ${summary(look.agent)}`);
    });
    marks.push(maps.mark);
    figures.push(el("div", { class: "half" }, el("h3", {}, title), note, maps.node));
  };
  const shown = shownStates(data);
  if (data.visited) add("visits", "Where it went", (agent) => visitSummary(shown.map((s) => agent.visits[s])));
  if (data.exact) add("error", "How far from the exact values", (agent) => errorSummary(shown.map((s) => errors(agent, data)[s])));
  if (!figures.length) return null;
  const names = [data.visited ? "visits" : "", data.exact ? "errors" : ""].filter(Boolean).join(" and ");
  return sectionOf("visits", names[0].toUpperCase() + names.slice(1), null, el("div", { class: "halves" }, figures));
}

function visitSummary(visits) {
  const never = visits.filter((n) => n === 0).length;
  return `the most visited state ${whole(extent(visits)?.[1])} times; ${never === 0 ? "every state was visited" : `${whole(never)} of ${whole(visits.length)} states never`}.`;
}

function errorSummary(values) {
  const there = finite(values);
  if (!there.length) return "no values to compare.";
  const mean = there.reduce((sum, x) => sum + x, 0) / there.length;
  return `at most ${short(extent(there)[1])}, on average ${short(mean)} over ${whole(there.length)} states.`;
}
