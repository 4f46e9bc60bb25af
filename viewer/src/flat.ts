// The page with scenes in the plane; see film2d.py for what it reads.
import { Drawings } from "./drawings";
import { unpack, type Packed } from "./packed";
import { Player } from "./player";
import type { Film } from "./picture";
import type { Drawn } from "./drawn";

interface Raw {
  title: string;
  dt: number;
  timed: boolean;
  left: number;
  runs: (Drawn & { name: string; values: (Packed & { name: string })[] })[];
}

const raw = JSON.parse(document.getElementById("data")?.textContent ?? "") as Raw;
const film: Film = {
  ...raw,
  frames: Math.max(...raw.runs.map((run) => run.frames.length)),
  runs: raw.runs.map(({ name, frames, values }) => ({
    name,
    frames: frames.length,
    values: values.map((value) => ({ name: value.name, data: unpack(value) })),
  })),
};
new Player(film, (changed) => new Drawings(raw.runs, changed)).start();
