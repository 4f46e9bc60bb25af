// Learning curves: mean and 95% interval of each series, faint single agents, a read-out at the pointer.
const CHART = { left: 60, right: 14, top: 12, bottom: 44 };

function linePath(xs, values, x, y) {
  let path = "", pen = "M";
  values.forEach((v, i) => {
    if (!known(v)) {
      pen = "M";
      return;
    }
    path += `${pen}${x(xs[i]).toFixed(1)} ${y(v).toFixed(1)}`;
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

function chartDomain(curve) {
  const shown = curve.series.filter((s) => s.color >= 0);
  const means = extent(curve.series.flatMap((s) => s.mean));
  if (curve.log) {
    const lowest = extent(curve.lanes.flatMap((lane) => lane.values).concat(means ?? [1]))[0];
    return [lowest, means?.[1] ?? 10, false];
  }
  return robustExtent([...curve.series.flatMap((s) => s.mean), ...shown.flatMap((s) => [...(s.low ?? []), ...(s.high ?? [])]), ...curve.lanes.flatMap((lane) => lane.values)]);
}

// From values to pixels, upside down; a band that reaches below a logarithmic axis ends at its foot.
function yScale(domain, height, log) {
  const squash = log ? (v) => Math.log(Math.max(v, domain[0] / 2)) : (v) => v;
  const [low, high] = domain.map(squash);
  const pad = (high - low) * 0.04 || 0.5;
  return (v) => CHART.top + ((high + pad - squash(v)) / (high - low + 2 * pad)) * (height - CHART.top - CHART.bottom);
}

function drawAxes(root, width, height, x, y, xs, domain, log) {
  const plotWidth = width - CHART.left - CHART.right;
  for (const t of log ? logTicks(domain[0], domain[1]) : ticks(domain[0], domain[1], Math.max(3, Math.round(height / 55)))) {
    root.append(svg("line", { class: "grid", x1: CHART.left, x2: width - CHART.right, y1: y(t), y2: y(t) }), svg("text", { class: "ytick", x: CHART.left - 9, y: y(t) }, compact(t)));
  }
  const base = height - CHART.bottom;
  for (const t of ticks(0, xs[xs.length - 1], Math.max(2, Math.round(plotWidth / 110)))) {
    root.append(svg("line", { class: "axis", x1: x(t), x2: x(t), y1: base, y2: base + 5 }), svg("text", { class: "xtick", x: x(t), y: base + 18 }, compact(t)));
  }
  root.append(svg("line", { class: "axis", x1: CHART.left, x2: width - CHART.right, y1: base, y2: base }), svg("text", { class: "xlabel", x: CHART.left + plotWidth / 2, y: height - 5 }, "steps of each agent"));
}

function drawChart(curve, id, width, height) {
  const xs = curve.step, domain = chartDomain(curve), last = xs[xs.length - 1];
  const x = (v) => CHART.left + (v / last) * (width - CHART.left - CHART.right);
  const y = yScale(domain, height, curve.log);
  const root = svg("svg", { class: `chart${curve.series.length > 1 ? " crowded" : ""}`, viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "application", "aria-label": `${curve.title} over steps; arrow keys move along the curve` });
  drawAxes(root, width, height, x, y, xs, domain, curve.log);
  const clip = svg("clipPath", { id: `clip-${id}` }, svg("rect", { x: CHART.left, y: CHART.top - 4, width: width - CHART.left - CHART.right + 2, height: height - CHART.top - CHART.bottom + 5 }));
  const plot = svg("g", { "clip-path": `url(#clip-${id})` });
  for (const lane of curve.lanes) plot.append(svg("path", { class: `${seriesClass(lane.color)} lane`, d: linePath(xs, lane.values, x, y) }));
  for (const s of [...curve.series].reverse()) if (s.low) plot.append(svg("path", { class: `${seriesClass(s.color)} band`, d: bandPath(xs, s.low, s.high, x, y) }));
  for (const s of [...curve.series].reverse()) plot.append(svg("path", { class: `${seriesClass(s.color)} mean`, d: linePath(xs, s.mean, x, y) }));
  const rule = svg("line", { class: "rule", y1: CHART.top, y2: height - CHART.bottom });
  root.append(clip, plot, rule);
  return { root, x, rule, cut: domain[2] };
}

function reading(s, i) {
  const interval = s.low && known(s.low[i]) ? ` [${short(s.low[i])}, ${short(s.high[i])}]` : "";
  return short(s.mean[i]) + interval;
}

// The last report at which something is known.
function lastKnown(curve) {
  for (let i = curve.step.length - 1; i >= 0; i -= 1) if (curve.series.some((s) => known(s.mean[i]))) return i;
  return curve.step.length - 1;
}

function chartLegend(curve, at) {
  const colored = curve.series.filter((s) => s.color >= 0), faded = curve.series.length - colored.length;
  const values = colored.map(() => el("span", { class: "value" }));
  const items = colored.map((s, k) => el("li", {}, svg("svg", { class: "swatch", width: 26, height: 10, "aria-hidden": "true" }, svg("line", { class: `${seriesClass(s.color)} mean`, x1: 1, x2: 25, y1: 5, y2: 5 })), el("span", { class: "name" }, s.name), values[k]));
  if (faded) items.push(el("li", {}, svg("svg", { class: "swatch", width: 26, height: 10, "aria-hidden": "true" }, svg("line", { class: "series faded mean", x1: 1, x2: 25, y1: 5, y2: 5 })), el("span", { class: "name" }, `${faded} more settings`)));
  return {
    node: el("ul", { class: `curvekey${colored.length > 1 ? " several" : ""}` }, items),
    show(i) {
      colored.forEach((s, k) => values[k].replaceChildren(reading(s, i)));
      at.replaceChildren(`at step ${whole(curve.step[i])}`);
    },
  };
}

function makeChart(curve, id, height) {
  const host = el("div", { class: "plot" }), at = el("span", { class: "at", "aria-live": "polite" });
  const legend = chartLegend(curve, at), cut = el("span", {});
  const end = lastKnown(curve);
  let now = end;
  responsive(host, (width) => {
    const { root, x, rule, cut: isCut } = drawChart(curve, id, width, height);
    cut.replaceChildren(isCut ? "A few values lie beyond the axis." : "");
    const show = (i, visible) => {
      now = Math.min(curve.step.length - 1, Math.max(0, i));
      rule.setAttribute("x1", x(curve.step[now]));
      rule.setAttribute("x2", x(curve.step[now]));
      rule.classList.toggle("shown", visible);
      legend.show(now);
    };
    root.addEventListener("pointermove", (event) => {
      const box = root.getBoundingClientRect();
      const position = ((event.clientX - box.left) / box.width) * width;
      let nearest = 0;
      curve.step.forEach((s, i) => {
        if (Math.abs(x(s) - position) < Math.abs(x(curve.step[nearest]) - position)) nearest = i;
      });
      show(nearest, true);
    });
    root.addEventListener("pointerleave", () => show(end, false));
    root.addEventListener("focus", () => show(now, true));
    root.addEventListener("blur", () => show(end, false));
    root.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(now + step, true);
    });
    show(end, false);
    host.replaceChildren(root);
  });
  const head = el("p", { class: "unit" }, curve.unit, at);
  return el("div", { class: "curve" }, head, host, legend.node, el("p", { class: "note" }, cut));
}

function curveSection(curves) {
  if (!curves.length) return null;
  const [first, ...others] = curves;
  const many = first.lanes.length > 1;
  const agents = first.series.length > 1 ? "the agents of each setting" : "all agents";
  const alone = first.series.every((s) => (s.low ?? []).every((v) => !known(v)));
  const lead = alone ? "" : `Lines are means over ${agents}, bands their 95% intervals (Student's t)${many ? ", thin lines single agents" : ""}. Point at a curve to read it.`;
  const flat = others.find((curve) => curve.title === "Return" && first.title === "Episode length");
  const why = flat ? ` Every episode returned ${short(flat.series[0].mean.find(known))}, so what shows the learning is how short the episodes get.` : "";
  const small = others.map((curve, i) => el("div", { class: "half" }, el("h3", {}, curve.title), makeChart(curve, `other${i}`, 240)));
  return sectionOf("curves", "Learning curves", lead + why, el("h3", {}, first.title), makeChart(first, "first", 380), small.length ? el("div", { class: "halves" }, small) : null);
}
