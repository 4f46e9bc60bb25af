// Elements, numbers and scales. Text becomes text nodes only; nothing here reads a string as markup.
// The files of this folder become one script, in the order that report.py names.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const MINUS = "\u2212";
const DASH = "\u2013";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") node.append(child);
  }
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function known(x) {
  return x !== null && x !== undefined;
}

// Three significant digits; whole numbers of four digits and more in full.
function short(x, digits = 3) {
  if (!known(x)) return DASH;
  const size = Math.abs(x);
  let text;
  if (x === 0) text = "0";
  else if (size >= 10 ** (digits - 1)) text = Math.round(size).toLocaleString("en");
  else if (size < 1e-4) text = size.toExponential(digits - 1);
  else text = size.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(Number(size.toPrecision(digits))))));
  return x < 0 ? MINUS + text : text;
}

function whole(x) {
  return known(x) ? (Number.isInteger(x) ? x.toLocaleString("en") : short(x)) : DASH;
}

function compact(x) {
  for (const [limit, unit] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (Math.abs(x) >= limit) return String(Number((x / limit).toPrecision(3))) + unit;
  }
  return (x < 0 ? MINUS : "") + String(Number(Math.abs(x).toPrecision(6)));
}

// With as many decimals as numbers of this size need.
function fixed(x, size, digits = 3) {
  const decimals = Math.min(8, Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1))));
  const text = Math.abs(x).toFixed(decimals);
  return (x < 0 && Number(text) !== 0 ? MINUS : "") + text;
}

// Round numbers that cover [low, high] in about `count` steps.
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}

function finite(values) {
  return values.filter(known);
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (known(v)) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  }
  return low <= high ? [low, high] : null;
}

// The values' range without the few that would flatten all others: [low, high, whether anything lies outside].
function robustExtent(values) {
  const sorted = finite(values).sort((a, b) => a - b);
  if (!sorted.length) return [0, 1, false];
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const spread = at(0.96) - at(0.04);
  let [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const [lowest, highest] = [low, high];
  if (spread > 0 && at(0.04) - low > 1.5 * spread) low = at(0.04) - 0.1 * spread;
  if (spread > 0 && high - at(0.96) > 1.5 * spread) high = at(0.96) + 0.1 * spread;
  if (low === high) [low, high] = [low - (Math.abs(low) * 0.1 || 0.5), high + (Math.abs(high) * 0.1 || 0.5)];
  return [low, high, lowest < low || highest > high];
}

function sectionOf(id, title, lead, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), lead ? el("p", { class: "lead" }, lead) : null, ...children);
}

// Buttons of which one is pressed: radio inputs, so that keyboards and readers know them.
function segments(name, legend, choices, chosen, onChange) {
  const field = el("fieldset", { class: "segments" }, el("legend", { class: "hidden" }, legend));
  for (const [value, text] of choices) {
    const input = el("input", { type: "radio", name, value, id: `${name}-${value}` });
    input.checked = value === chosen;
    input.addEventListener("change", () => onChange(value));
    field.append(input, el("label", { for: `${name}-${value}` }, text));
  }
  return field;
}

// Call `draw(width)` whenever the node has a new width; in a frame of its own, since drawing changes the layout.
function responsive(node, draw) {
  let last = 0;
  const look = () => {
    const width = Math.round(node.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(() => requestAnimationFrame(look)).observe(node);
}
