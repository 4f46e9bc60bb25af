// A panel of states as an SVG: coloured cells, walls, labels, greedy arrows and a cursor.
const CELL = 40;
const LARGE = 20;
const SMALLEST_ARROW = 5;

// What fills the cells: {scale, values, greedy, numbers, domain, log}.
function binOf(layer, value) {
  const [low, high] = layer.domain;
  const squash = layer.log ? (x) => Math.log1p(Math.max(0, x)) : (x) => x;
  const share = high > low ? (squash(value) - squash(low)) / (squash(high) - squash(low)) : 0.5;
  return Math.min(layer.bins - 1, Math.max(0, Math.floor(share * layer.bins)));
}

function cellPath(x, y, gap, radius) {
  const side = CELL - 2 * gap;
  if (radius === 0) return `M${x + gap} ${y + gap}h${side}v${side}h${-side}z`;
  const [r, s] = [radius, side - 2 * radius];
  const arc = (dx, dy) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  return `M${x + gap + r} ${y + gap}h${s}${arc(r, r)}v${s}${arc(-r, r)}h${-s}${arc(-r, -r)}v${-s}${arc(r, -r)}z`;
}

// An arrow from the middle of a cell: centred if it is the only one, else pointing outwards.
function arrowPath(cx, cy, [dx, dy], alone, reach) {
  const norm = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / norm, dy / norm];
  const [tail, tip] = alone ? [-0.75 * reach, 0.75 * reach] : [0.2 * reach, reach];
  const head = 0.42 * reach;
  const point = (along, across) => `${(cx + along * ux - across * uy).toFixed(1)} ${(cy + along * uy + across * ux).toFixed(1)}`;
  return `M${point(tail, 0)}L${point(tip, 0)}M${point(tip - head, -head)}L${point(tip, 0)}L${point(tip - head, head)}`;
}

const LONGEST_LABEL = 12;

function clipped(text) {
  return text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}\u2026` : text;
}

function fitted(text, base) {
  return Math.min(base, (CELL * 0.88) / (0.58 * Math.max(1, text.length)));
}

// The actions whose bit is set.
function actionsOf(mask, count) {
  const found = [];
  for (let a = 0; a < Math.min(count, 52); a += 1) if (Math.floor(mask / 2 ** a) % 2 === 1) found.push(a);
  return found;
}

function panelSize(panel) {
  const rows = panel.states.length, columns = panel.states[0].length;
  const left = (panel.rowTicks.length ? 26 : 0) + (panel.rowLabel ? 22 : 0);
  const bottom = (panel.columnTicks.length ? 26 : 0) + (panel.columnLabel ? 22 : 0);
  return { rows, columns, left, bottom, width: left + columns * CELL, height: rows * CELL + bottom };
}

// The panel's pixels for each cell, so that it fits into `room` x `room`.
function panelScale(size, room, largestCell) {
  return Math.min(largestCell, (room / size.width) * CELL, (room / size.height) * CELL) / CELL;
}

function drawCells(panel, size, data, layer) {
  const cells = new Map(), arrows = new Map(), texts = [];
  const small = size.columns <= LARGE && size.rows <= LARGE;
  const largest = Math.max(...layer.domain.map(Math.abs));
  const gap = small ? 1 : 0, radius = small ? 3 : 0;
  const labelled = new Map(panel.labels.map(([r, c, text]) => [`${r} ${c}`, text]));
  const add = (map, key, path) => map.set(key, (map.get(key) ?? "") + path);
  panel.states.forEach((row, r) => row.forEach((state, c) => {
    const [x, y] = [size.left + c * CELL, r * CELL];
    const label = labelled.get(`${r} ${c}`);
    if (state < 0) return add(cells, "wall", cellPath(x, y, 0, 0));
    const value = data.reachable && !data.reachable[state] ? null : layer.values[state];
    if (!known(value)) {
      add(cells, "blank", cellPath(x, y, gap, radius));
      if (label !== undefined) texts.push(cellLabel(x, y, label, "onblank", true, small));
      return undefined;
    }
    const bin = binOf(layer, value);
    const ink = `${layer.scale}${bin}i`;
    add(cells, `${layer.scale}${bin}`, cellPath(x, y, gap, radius));
    if (label !== undefined) texts.push(cellLabel(x, y, label, ink, !layer.greedy && !layer.numbers, small));
    if (layer.greedy && (small || label === undefined)) drawGreedy(x, y + (label === undefined ? 0 : 2), layer, state, data, ink, arrows, texts);
    if (layer.numbers) texts.push(svg("text", { class: `${ink} on number`, x: x + CELL / 2, y: y + CELL - 8.5, "font-size": 8.6 }, fixed(value, largest)));
    return undefined;
  }));
  const group = svg("g", { class: small ? null : "crisp" });
  for (const [name, path] of cells) group.append(svg("path", { class: name, d: path }));
  for (const [name, path] of arrows) group.append(svg("path", { class: `${name} arrows`, d: path }));
  group.append(...texts);
  return group;
}

function cellLabel(x, y, long, ink, centred, small) {
  const text = clipped(long);
  const size = fitted(text, small ? (centred ? 17 : 11) : 34);
  if (centred || !small) {
    return svg("text", { class: `${ink} on label`, x: x + CELL / 2, y: y + CELL / 2, "font-size": size }, text);
  }
  return svg("text", { class: `${ink} on label corner`, x: x + 4, y: y + 9, "font-size": fitted(text, 11) }, text);
}

function drawGreedy(x, y, layer, state, data, ink, arrows, texts) {
  const chosen = actionsOf(layer.greedy[state], data.actions.length);
  const [cx, cy] = [x + CELL / 2, y + CELL / 2 - (layer.numbers ? 6 : 0)];
  const moves = chosen.filter((a) => data.arrows[a]);
  const named = chosen.filter((a) => !data.arrows[a]).map((a) => data.actions[a]);
  const anything = chosen.length === data.actions.length && named.length > 0 && chosen.length > 1;
  if (anything) {
    texts.push(svg("circle", { class: `${ink} dot`, cx, cy, r: 2.4 }));
    return;
  }
  const reach = (layer.numbers ? 10.5 : 13) * (named.length ? 0.75 : 1);
  let path = "";
  for (const a of moves) path += arrowPath(cx, cy - (named.length ? 5 : 0), data.arrows[a], moves.length === 1, reach);
  if (path) arrows.set(ink, (arrows.get(ink) ?? "") + path);
  if (named.length) {
    const text = clipped(named.join("/"));
    const lower = moves.length ? 12 : 0;
    texts.push(svg("text", { class: `${ink} on name`, x: cx, y: cy + lower, "font-size": fitted(text, moves.length ? 9 : 12) }, text));
  }
}

function drawTicks(panel, size) {
  const group = svg("g", { class: "ticks" });
  const bottom = size.rows * CELL;
  panel.rowTicks.forEach((text, r) => group.append(svg("text", { class: "end", x: size.left - 7, y: (r + 0.5) * CELL, "font-size": fitted(text, 14) }, text)));
  panel.columnTicks.forEach((text, c) => group.append(svg("text", { x: size.left + (c + 0.5) * CELL, y: bottom + 15, "font-size": fitted(text, 14) }, text)));
  if (panel.columnLabel) group.append(svg("text", { x: size.left + (size.columns * CELL) / 2, y: size.height - 10, "font-size": 14 }, panel.columnLabel));
  if (panel.rowLabel) {
    const y = bottom / 2;
    group.append(svg("text", { x: 11, y, "font-size": 14, transform: `rotate(-90 11 ${y})` }, panel.rowLabel));
  }
  return group;
}

// One panel. `onCell(row, column)` is told where the pointer or the cursor is.
function makePanel(panel, data, options) {
  const size = panelSize(panel);
  const scale = panelScale(size, options.room, options.cell);
  const root = svg("svg", {
    class: `map${size.columns > 8 ? " dense" : ""}`, viewBox: `0 0 ${size.width} ${size.height}`, width: Math.round(size.width * scale), height: Math.round(size.height * scale),
    tabindex: 0, role: "application", "aria-label": `${panel.title || "map"}: ${size.rows} rows, ${size.columns} columns; arrow keys move over the cells`,
  });
  const cursor = svg("rect", { class: "cursor", width: CELL, height: CELL, rx: 3 });
  let content = svg("g");
  root.append(content, drawTicks(panel, size), cursor);
  const here = { row: 0, column: 0 };
  const place = (row, column) => {
    here.row = Math.min(size.rows - 1, Math.max(0, row));
    here.column = Math.min(size.columns - 1, Math.max(0, column));
    cursor.setAttribute("x", size.left + here.column * CELL);
    cursor.setAttribute("y", here.row * CELL);
  };
  const go = (row, column) => {
    place(row, column);
    options.onCell(here.row, here.column);
  };
  const byPointer = (event) => {
    const box = root.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * size.width - size.left;
    const y = ((event.clientY - box.top) / box.height) * size.height;
    if (x >= 0 && x < size.columns * CELL && y >= 0 && y < size.rows * CELL) go(Math.floor(y / CELL), Math.floor(x / CELL));
  };
  root.addEventListener("pointermove", byPointer);
  root.addEventListener("pointerdown", byPointer);
  root.addEventListener("focus", () => options.onCell(here.row, here.column));
  root.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    go(here.row + step[0], here.column + step[1]);
  });
  return {
    node: el("figure", { class: "panel" }, panel.title ? el("figcaption", {}, panel.title) : null, root),
    place,
    mark: (on) => cursor.classList.toggle("shown", on),
    draw(layer) {
      const numbers = layer.numbers && options.numbers && size.columns <= 14 && scale * CELL >= 40;
      const fresh = drawCells(panel, size, data, { ...layer, numbers, greedy: scale * CELL >= SMALLEST_ARROW ? layer.greedy : null });
      content.replaceWith(fresh);
      content = fresh;
    },
  };
}

// Powers of ten in [low, high], with their doubles and fivefolds where there are few.
function logTicks(low, high) {
  const decades = Array.from({ length: 16 }, (_, k) => 10 ** k);
  const within = (found) => found.filter((x) => x >= low && x <= high);
  const coarse = within([0, ...decades]);
  return coarse.length > 2 ? coarse : within([0, ...decades.flatMap((x) => [x, 2 * x, 5 * x])]);
}

function colorBar(layer, caption) {
  const width = 260, height = 12;
  const root = svg("svg", { class: "colorbar", viewBox: `0 0 ${width + 40} 34`, width: width + 40, height: 34, role: "img", "aria-label": `${caption}: from ${short(layer.domain[0])} to ${short(layer.domain[1])}` });
  for (let i = 0; i < layer.bins; i += 1) root.append(svg("rect", { class: `${layer.scale}${i}`, x: 20 + (i * width) / layer.bins, y: 0, width: width / layer.bins + 0.5, height }));
  const [low, high] = layer.domain;
  const squash = layer.log ? Math.log1p : (x) => x;
  const share = (x) => (high > low ? (squash(x) - squash(low)) / (squash(high) - squash(low)) : 0.5);
  const inner = high > low ? (layer.log ? logTicks(low, high) : ticks(low, high, 5)) : [];
  const ends = high > low ? [low, high] : [low];
  const apart = inner.filter((x) => ends.every((end) => Math.abs(share(x) - share(end)) > 0.13));
  for (const x of [...apart.filter((_, i) => i % Math.ceil(apart.length / 6) === 0), ...ends]) {
    const at = 20 + share(x) * width;
    root.append(svg("line", { class: "tick", x1: at, x2: at, y1: height, y2: height + 4 }), svg("text", { class: "ticklabel", x: at, y: height + 16 }, layer.log ? compact(Math.round(x)) : fixed(x, high - low, 2)));
  }
  return el("div", { class: "legend" }, root, el("span", {}, caption));
}
