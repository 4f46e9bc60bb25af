// A problem of one state: one bar for each action instead of a map.
function barLayout(width, count) {
  const left = 52, top = 14, height = 300, bottom = 44;
  return { width, left, top, height, bottom, plot: height - top - bottom, step: (width - left - 8) / count };
}

function drawBars(host, width, agent, data, look) {
  const at = barLayout(width, data.actions.length);
  const values = look.kind === "visits" ? agent.visits : agent.q;
  const marks = look.kind === "visits" || !data.exact ? [] : data.exact.q;
  const [low, high] = extent([0, ...values, ...marks]);
  const pad = (high - low || 1) * 0.06;
  const [bottom, top] = [low < 0 ? low - pad : 0, high + pad];
  const y = (v) => at.top + ((top - v) / (top - bottom)) * at.plot;
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${at.height}`, width, height: at.height, role: "img", "aria-label": `${look.kind === "visits" ? "visits" : "values"} of ${data.actions.length} actions` });
  for (const t of ticks(bottom, top, 5)) {
    root.append(svg("line", { class: t === 0 ? "axis" : "grid", x1: at.left, x2: width - 4, y1: y(t), y2: y(t) }), svg("text", { class: "ytick", x: at.left - 8, y: y(t) }, compact(t)));
  }
  const chosen = new Set(actionsOf(agent.greedy[0], data.actions.length));
  data.actions.forEach((name, a) => {
    const [x, breadth] = [at.left + a * at.step + at.step * 0.16, at.step * 0.68];
    const group = svg("g", { class: "bar", tabindex: 0, role: "img", "aria-label": `${name}: ${short(values[a])}` });
    group.append(svg("rect", { class: "hit", x: at.left + a * at.step, y: at.top, width: at.step, height: at.plot }));
    if (known(values[a])) group.append(svg("rect", { class: chosen.has(a) ? "body greedy" : "body", x, y: Math.min(y(values[a]), y(0)), width: breadth, height: Math.max(1, Math.abs(y(values[a]) - y(0))), rx: 2 }));
    if (known(marks[a])) group.append(svg("line", { class: "exactmark", x1: x - 3, x2: x + breadth + 3, y1: y(marks[a]), y2: y(marks[a]) }));
    for (const kind of ["pointerenter", "focus", "pointerdown"]) group.addEventListener(kind, () => look.show(a));
    root.append(group);
    if (a % Math.ceil(26 / at.step) === 0) root.append(svg("text", { class: "xtick", x: x + breadth / 2, y: at.height - at.bottom + 18 }, String(a)));
  });
  root.append(svg("text", { class: "xlabel", x: at.left + (width - at.left) / 2, y: at.height - 6 }, "action"));
  host.replaceChildren(root);
}

function banditSection(data) {
  const host = el("div", { class: "plot" }), line = el("p", { class: "note reading", "aria-live": "polite" });
  const look = { agent: data.agents[0], kind: "value", width: 0 };
  look.show = (a) => {
    const parts = [`${data.actions[a]}: learned ${short(look.agent.q[a])}`];
    if (data.exact) parts.push(`exact ${short(data.exact.q[a])}`);
    if (look.agent.visits) parts.push(`chosen ${whole(look.agent.visits[a])} times`);
    line.replaceChildren(parts.join(", "));
  };
  const redraw = () => {
    if (look.width) drawBars(host, look.width, look.agent, data, look);
    look.show(actionsOf(look.agent.greedy[0], data.actions.length)[0] ?? 0);
  };
  responsive(host, (width) => {
    look.width = width;
    redraw();
  });
  const kinds = [["value", "Learned value"], ...(data.visited ? [["visits", "Times chosen"]] : [])];
  const controls = el("div", { class: "controls" },
    data.agents.length > 1 ? agentSelect(data, (i) => { look.agent = data.agents[i]; redraw(); }) : null,
    kinds.length > 1 ? segments("layer", "What the bars show", kinds, look.kind, (kind) => { look.kind = kind; redraw(); }) : null);
  const key = el("ul", { class: "key" }, el("li", { class: "greedybar" }, "greedy action"), el("li", { class: "otherbar" }, "other actions"), data.exact ? el("li", { class: "exactline" }, "exact value") : null);
  return sectionOf("learned", "What was learned", "One state, so one bar for each action. Point at a bar to read its numbers.", controls, host, key, line);
}
