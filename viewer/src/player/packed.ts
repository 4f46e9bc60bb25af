// Numbers as text, unpacked. The packing is described in packing.py.
export interface Packed {
  low: number[];
  high: number[];
  data: string;
}

export function bytes(text: string): ArrayBuffer {
  const chars = atob(text);
  const found = new Uint8Array(chars.length);
  for (let i = 0; i < chars.length; i += 1) found[i] = chars.charCodeAt(i);
  return found.buffer;
}

export function unpack({ low, high, data }: Packed): Float32Array {
  const steps = new Uint16Array(bytes(data));
  const found = new Float32Array(steps.length);
  steps.forEach((step, i) => {
    const k = i % low.length;
    found[i] = step === 65535 ? NaN : low[k] + (step / 65534) * (high[k] - low[k]);
  });
  return found;
}

// Numbers to read: what may have been zero is, so that a return does not begin at some rounding.
export function unpackValue(packed: Packed): Float32Array {
  const step = (packed.high[0] - packed.low[0]) / 65534;
  return unpack(packed).map((x) => (Math.abs(x) <= 0.51 * step ? 0 : x));
}
