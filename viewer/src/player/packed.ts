// Numbers as text, unpacked. The packing is described in packing.py.
interface Steps {
  low: number[];
  high: number[];
  data: string;
}

interface Floats {
  bits: 32 | 64;
  data: string;
}

export type Packed = Steps | Floats;

export function bytes(text: string): ArrayBuffer {
  const chars = atob(text);
  const found = new Uint8Array(chars.length);
  for (let i = 0; i < chars.length; i += 1) found[i] = chars.charCodeAt(i);
  return found.buffer;
}

export function unpack(packed: Packed): Float64Array {
  const raw = bytes(packed.data);
  if ("bits" in packed) return new Float64Array(packed.bits === 64 ? raw : new Float32Array(raw));
  const { low, high } = packed;
  // a whole span may be too large for a number
  const half = low.map((least, k) => high[k] / 2 - least / 2);
  return Float64Array.from(new Uint16Array(raw), (step, i) => {
    const k = i % low.length;
    return step === 65535 ? NaN : 2 * (low[k] / 2 + (step / 65534) * half[k]);
  });
}
