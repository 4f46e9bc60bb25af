// Numbers as text.
export const MINUS = "\u2212";
export const DASH = "\u2013";
const HUGE = 1e15;
const UNITS = [[1e15, " P"], [1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]] as const;
// how wide a character is at most, on average, as a share of its size
const CHARACTER = 0.66;
// in so many digits no two different numbers are the same
const ALL_DIGITS = 17;

// A number that may be unknown: NaN and infinities are null in JSON.
export type Maybe = number | null | undefined;

export function known(x: Maybe): x is number {
  return x !== null && x !== undefined;
}

// Three significant digits; whole numbers of four digits and more in full, but for huge ones: as Python's `short`.
export function significant(x: Maybe, digits = 3): string {
  if (!known(x)) return DASH;
  const size = Math.abs(x);
  const scientific = size.toExponential(digits - 1).replace(/e([+-])(\d)$/, "e$10$2");
  const power = Number(scientific.split("e")[1]);
  let text = scientific;
  if (x === 0) text = "0";
  else if (size >= 10 ** (digits - 1) && size < HUGE) text = Number(evenly(size, 0)).toLocaleString("en");
  else if (power >= -4 && size < HUGE) text = evenly(size, digits - 1 - power);
  return x < 0 ? MINUS + text : text;
}

// So many decimals; an exact half goes to the even digit, as Python rounds it.
function evenly(size: number, decimals: number): string {
  const half = /^50+$/.test(size.toFixed(decimals + 30).slice(-30));
  const below = Math.floor(size * 10 ** decimals);
  return half && below % 2 === 0 ? (below / 10 ** decimals).toFixed(decimals) : size.toFixed(decimals);
}

// A count in full.
export function whole(x: Maybe): string {
  return known(x) && Number.isInteger(x) ? x.toLocaleString("en").replace("-", MINUS) : significant(x);
}

// A number on an axis: 0.5, 20 k, 1.5 M, 1e28; in full, since `ticks` are round numbers, or in so many digits.
export function prefixed(x: number, digits = 12): string {
  const sign = x < 0 ? MINUS : "";
  const size = Number(Math.abs(x).toPrecision(digits));
  if (size >= 1e18 || (size > 0 && size < 1e-4)) return sign + size.toExponential().replace("e+", "e");
  const [limit, unit] = UNITS.find(([least]) => size >= least) ?? [1, ""];
  return sign + Number((size / limit).toPrecision(digits)) + unit;
}

// Different numbers in three digits each, or in as many as tell them apart.
export function distinctTexts(numbers: readonly number[], write: (x: number, digits: number) => string): string[] {
  const texts = (digits: number): string[] => {
    const written = numbers.map((x) => write(x, digits));
    return digits === ALL_DIGITS || new Set(written).size === numbers.length ? written : texts(digits + 1);
  };
  return texts(3);
}

// How wide the longest text may be, in letters of a size.
export function widest(texts: readonly string[], size: number): number {
  return CHARACTER * size * Math.max(0, ...texts.map((text) => text.length));
}

// With as many decimals as numbers of this size need.
export function fixed(x: number, size: number, digits = 3): string {
  const decimals = Math.min(8, Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1))));
  const text = Math.abs(x).toFixed(decimals);
  return (x < 0 && Number(text) !== 0 ? MINUS : "") + text;
}

// Three digits in little room, as many decimals for all numbers of a size: for values that change with a film.
export function brief(x: number): string {
  if (!Number.isFinite(x)) return DASH;
  const size = Math.abs(x);
  let text = size.toExponential(1);
  if (size === 0) text = "0";
  else if (size >= 1e6) text = text.replace("e+", "e");
  else if (size >= 99.95) text = String(Math.round(size));
  else if (size >= 0.000995) text = size.toFixed(size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.00995 ? 3 : 4);
  return x < 0 ? MINUS + text : text;
}

// Hundredths, or finer where many steps of time would show the same.
export function seconds(x: number, step: number): string {
  return x.toFixed(Math.min(9, Math.max(2, Math.ceil(-Math.log10(2 * step)))));
}
