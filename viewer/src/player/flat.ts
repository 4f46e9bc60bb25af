// The player of scenes in the plane; see film2d.py for what it reads.
import { Drawings } from "./drawings";
import type { Drawn } from "./drawn";
import { unpack, type Packed } from "./packed";
import type { Film } from "./picture";
import { partOf, wholePage } from "./place";
import { Player, type Place } from "./player";

interface Raw {
  title: string;
  dt: number;
  timed: boolean;
  left: number;
  runs: (Drawn & { name: string; values: (Packed & { name: string })[] })[];
}

const HEAD = 64;
const EDGE = 20;

export function page(): void {
  play(...wholePage<Raw>());
}

export function mount(host: HTMLElement, raw: Raw, style: string): void {
  play(raw, partOf(host, style));
}

function play(raw: Raw, place: Place): void {
  const film: Film = {
    ...raw,
    frames: Math.max(...raw.runs.map((run) => run.frames.length)),
    runs: raw.runs.map(({ name, frames, values }) => ({
      name,
      frames: frames.length,
      values: values.map((value) => ({ name: value.name, data: unpack(value) })),
    })),
  };
  new Player(film, place, (changed) => new Drawings(raw.runs, changed, place.embedded ? EDGE : HEAD)).start();
}
