// One chart: a line and its interval for each series, faint single agents, evaluations as dots, a read-out at the pointer.
const CHART = { left: 60, right: 14, top: 12, bottom: 44 };
const SMALL = 200;
const FEW_AGENTS = 4;
const MANY_DOTS = 60;

// The horizontal axes that a reader can choose from, and the charts that follow the choice.
const AXES = {
  step: { label: () => "steps of each agent", unit: () => 1, tick: compact, at: (v) => `at step ${whole(v)}` },
  seconds: { label: (end) => `training time in ${timeUnit(end)[1]}, compiling included`, unit: (end) => timeUnit(end)[0], tick: compact, at: (v) => `after ${timeText(v)}` },
};
const axis = { name: "step", listeners: [] };

function chooseAxis(name) {
  axis.name = name;
  for (const listener of axis.listeners) listener();
}

function timeUnit(end) {
  return end > 3 * 3600 ? [3600, "hours"] : end > 180 ? [60, "minutes"] : [1, "seconds"];
}

function timeText(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${short(seconds)} s`;
}

// One line for each stretch without holes; of a value alone the line's round ends make a dot.
function linePath(xs, values, x, y) {
  let path = "", pen = "M";
  values.forEach((v, i) => {
    if (!known(v)) {
      pen = "M";
      return;
    }
    const alone = pen === "M" && !known(values[i + 1]) ? "h0" : "";
    path += `${pen}${x(xs[i]).toFixed(1)} ${y(v).toFixed(1)}${alone}`;
    pen = "L";
  });
  return path;
}

// The area between two curves, one closed piece for each stretch without holes.
function bandPath(xs, low, high, x, y) {
  let path = "", stretch = [];
  const close = () => {
    if (stretch.length > 1) {
      const there = stretch.map((i) => `${x(xs[i]).toFixed(1)} ${y(high[i]).toFixed(1)}`);
      const back = [...stretch].reverse().map((i) => `${x(xs[i]).toFixed(1)} ${y(low[i]).toFixed(1)}`);
      path += `M${[...there, ...back].join("L")}z`;
    }
    stretch = [];
  };
  xs.forEach((_, i) => (known(low[i]) && known(high[i]) ? stretch.push(i) : close()));
  close();
  return path;
}

function seriesClass(color) {
  return color < 0 ? "series faded" : `series series${color}${color > 3 ? " dashed" : ""}`;
}

// The values that the vertical axis covers.
function chartDomain(chart) {
  const shown = [...chart.series.filter((s) => s.color >= 0), ...(chart.evals?.series ?? [])];
  const means = extent(chart.series.concat(chart.evals?.series ?? []).flatMap((s) => s.mean));
  if (chart.log) {
    const lowest = extent(chart.lanes.flatMap((lane) => lane.values).concat(means ?? [1]))[0];
    return [lowest, means?.[1] ?? 10, false];
  }
  return robustExtent([...chart.series.flatMap((s) => s.mean), ...shown.flatMap((s) => [...s.mean, ...(s.low ?? []), ...(s.high ?? [])]), ...chart.lanes.flatMap((lane) => lane.values)]);
}

// From values to pixels, upside down; a band that reaches below a logarithmic axis ends at its foot.
function yScale(domain, height, log) {
  const squash = log ? (v) => Math.log(Math.max(v, domain[0] / 2)) : (v) => v;
  const [low, high] = domain.map(squash);
  const pad = (high - low) * 0.04 || 0.5;
  return (v) => CHART.top + ((high + pad - squash(v)) / (high - low + 2 * pad)) * (height - CHART.top - CHART.bottom);
}

// Where the horizontal axis begins: at 0, or after compiling where that is much of the whole time.
function axisStart(xs) {
  const [first, second, last] = [xs[0], xs[1] ?? xs[0], xs[xs.length - 1]];
  return axis.name === "seconds" && first > 0.25 * last ? Math.max(0, first - (second - first)) : 0;
}

function drawAxes(root, width, height, x, y, start, last, domain, log) {
  const plotWidth = width - CHART.left - CHART.right, kind = AXES[axis.name], unit = kind.unit(last);
  for (const t of log ? logTicks(domain[0], domain[1]) : ticks(domain[0], domain[1], Math.max(4, Math.round(height / 55)))) {
    root.append(svg("line", { class: "grid", x1: CHART.left, x2: width - CHART.right, y1: y(t), y2: y(t) }), svg("text", { class: "ytick", x: CHART.left - 9, y: y(t) }, compact(t)));
  }
  const base = height - CHART.bottom;
  for (const t of ticks(start / unit, Math.max(last, start + 1e-9) / unit, Math.max(2, Math.round(plotWidth / 110)))) {
    root.append(svg("line", { class: "axis", x1: x(t * unit), x2: x(t * unit), y1: base, y2: base + 5 }), svg("text", { class: "xtick", x: x(t * unit), y: base + 18 }, kind.tick(t)));
  }
  root.append(svg("line", { class: "axis", x1: CHART.left, x2: width - CHART.right, y1: base, y2: base }));
  if (height > SMALL) root.append(svg("text", { class: "xlabel", x: CHART.left + plotWidth / 2, y: height - 5 }, kind.label(last)));
}

function bands(layer, xs, x, y) {
  return [...layer.series].reverse().filter((s) => s.low).map((s) => svg("path", { class: `${seriesClass(s.color)} band`, d: bandPath(xs, s.low, s.high, x, y) }));
}

function dots(s, xs, x, y) {
  if (xs.length > MANY_DOTS) return [];
  return xs.flatMap((at, i) => (known(s.mean[i]) ? [svg("circle", { class: `${seriesClass(s.color)} spot`, cx: x(at), cy: y(s.mean[i]), r: 3.4 })] : []));
}

function drawLayers(plot, chart, x, y) {
  const xs = chart[axis.name], evals = chart.evals, few = chart.lanes.length < FEW_AGENTS;
  const line = (s, at, kind) => svg("path", { class: `${seriesClass(s.color)} ${kind}`, d: linePath(at, s.mean, x, y) });
  plot.append(...bands(chart, xs, x, y), ...(evals && chart.series.length === 1 ? bands(evals, evals[axis.name], x, y) : []));
  for (const lane of chart.lanes) plot.append(svg("path", { class: `${seriesClass(lane.color)} lane${few ? " few" : ""}`, d: linePath(xs, lane.values, x, y) }));
  for (const s of [...chart.series].reverse()) plot.append(line(s, xs, "mean"));
  for (const s of evals ? [...evals.series].reverse() : []) plot.append(line(s, evals[axis.name], "evaluated"), ...dots(s, evals[axis.name], x, y));
}

function drawChart(chart, id, width, height) {
  const xs = chart[axis.name], domain = chartDomain(chart), start = axisStart(xs), last = xs[xs.length - 1];
  const x = (v) => CHART.left + ((v - start) / (last - start || 1)) * (width - CHART.left - CHART.right);
  const y = yScale(domain, height, chart.log);
  const root = svg("svg", { class: `chart${chart.series.length > 1 ? " crowded" : ""}`, viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "application", "aria-label": `${chart.title} over ${axis.name === "step" ? "steps" : "time"}; arrow keys move along the curve` });
  drawAxes(root, width, height, x, y, start, last, domain, chart.log);
  const clip = svg("clipPath", { id: `clip-${id}` }, svg("rect", { x: CHART.left, y: CHART.top - 4, width: width - CHART.left - CHART.right + 6, height: height - CHART.top - CHART.bottom + 5 }));
  const plot = svg("g", { "clip-path": `url(#clip-${id})` });
  drawLayers(plot, chart, x, y);
  const rule = svg("line", { class: "rule", y1: CHART.top, y2: height - CHART.bottom });
  root.append(clip, plot, rule);
  return { root, x, rule, cut: domain[2] };
}

function reading(s, i) {
  if (i < 0) return DASH;
  const interval = s.low && known(s.low[i]) ? ` [${short(s.low[i])}, ${short(s.high[i])}]` : "";
  return short(s.mean[i]) + interval;
}

// The last report at which something is known.
function lastKnown(chart) {
  for (let i = chart.step.length - 1; i >= 0; i -= 1) if (chart.series.some((s) => known(s.mean[i]))) return i;
  return chart.step.length - 1;
}

function swatch(s, evaluated = false) {
  const mark = evaluated ? svg("circle", { class: `${seriesClass(s.color)} spot`, cx: 13, cy: 5, r: 3.4 }) : null;
  return svg("svg", { class: "swatch", width: 26, height: 10, "aria-hidden": "true" }, svg("line", { class: `${seriesClass(s.color)} ${evaluated ? "evaluated" : "mean"}`, x1: 1, x2: 25, y1: 5, y2: 5 }), mark);
}

// What each line is, and its value: {node, show}.
function chartLegend(chart) {
  const colored = chart.series.filter((s) => s.color >= 0), faded = chart.series.length - colored.length;
  const evals = chart.series.length === 1 ? chart.evals?.series ?? [] : [];
  const values = [...colored, ...evals].map(() => el("span", { class: "value" }));
  const items = [...colored, ...evals].map((s, k) => el("li", {}, swatch(s, k >= colored.length), el("span", { class: "name" }, s.name), values[k]));
  if (faded) items.push(el("li", {}, swatch({ color: -1 }), el("span", { class: "name" }, `${faded} more settings`)));
  if (chart.evals && !evals.length) items.push(el("li", {}, swatch({ color: -1 }, true), el("span", { class: "name" }, "greedy evaluations, in the colour of the setting")));
  return {
    node: el("ul", { class: `curvekey${items.length > 1 ? " several" : ""}` }, items),
    show(i) {
      const before = chart.evals ? chart.evals.step.filter((s) => s <= chart.step[i]).length - 1 : -1;
      [...colored, ...evals].forEach((s, k) => values[k].replaceChildren(reading(s, k < colored.length ? i : before)));
    },
  };
}

// A chart that can be read. Those of a group are read together: `group` holds what each shows.
function makeChart(chart, id, height, { group = [], small = false } = {}) {
  const host = el("div", { class: "plot" }), at = el("span", { class: "at", "aria-live": "polite" });
  const legend = small ? null : chartLegend(chart), cut = el("span", {}), end = lastKnown(chart);
  const place = { now: end, width: 0, drawn: null };
  const show = (i, visible) => {
    place.now = Math.min(chart.step.length - 1, Math.max(0, i));
    const where = chart[axis.name][place.now];
    at.replaceChildren(small ? reading(chart.series[0], place.now) : AXES[axis.name].at(where));
    legend?.show(place.now);
    if (!place.drawn) return;
    for (const x of ["x1", "x2"]) place.drawn.rule.setAttribute(x, place.drawn.x(where));
    place.drawn.rule.classList.toggle("shown", visible);
  };
  group.push(show);
  const all = (i, visible) => group.forEach((each) => each(i, visible));
  const draw = () => {
    if (!place.width) return;
    place.drawn = drawChart(chart, id, place.width, height);
    cut.replaceChildren(place.drawn.cut ? "A few values lie beyond the axis." : "");
    readable(place.drawn, chart, place, end, all);
    show(end, false);
    host.replaceChildren(place.drawn.root);
  };
  axis.listeners.push(draw);
  responsive(host, (width) => {
    place.width = width;
    draw();
  });
  const head = small ? [el("h3", {}, chart.title, at), el("p", { class: "note" }, chart.healthy)] : [el("p", { class: "unit" }, chart.unit, at)];
  return el("div", { class: "curve" }, head, host, legend?.node, el("p", { class: "note" }, cut));
}

// What the pointer and keys do to a chart.
function readable({ root, x }, chart, place, end, show) {
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect(), xs = chart[axis.name];
    const position = ((event.clientX - box.left) / box.width) * place.width;
    let nearest = 0;
    xs.forEach((s, i) => {
      if (Math.abs(x(s) - position) < Math.abs(x(xs[nearest]) - position)) nearest = i;
    });
    show(nearest, true);
  });
  root.addEventListener("pointerleave", () => show(end, false));
  root.addEventListener("focus", () => show(place.now, true));
  root.addEventListener("blur", () => show(end, false));
  root.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(place.now + step, true);
  });
}
