// Numbers as text.
const MINUS = "\u2212";

// Three significant digits; a dash for what is not known.
export function short(x: number): string {
  if (!Number.isFinite(x)) return "\u2013";
  const size = Math.abs(x);
  let text = size.toExponential(1);
  if (size === 0) text = "0";
  else if (size >= 1e6) text = text.replace("e+", "e");
  else if (size >= 99.95) text = String(Math.round(size));
  else if (size >= 0.001) text = size.toFixed(size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
  return x < 0 ? MINUS + text : text;
}

// Hundredths, or finer where many steps of time would show the same.
export function seconds(x: number, step: number): string {
  return x.toFixed(Math.min(9, Math.max(2, Math.ceil(-Math.log10(2 * step)))));
}
