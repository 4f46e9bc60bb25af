// The page's data, unpacked: what stands where at every time. The packing is described in film3d.py.
import { bytes, unpack, type Packed } from "./packed";
import type { Episode, Film } from "./picture";

export type Kind = "plane" | "sphere" | "capsule" | "box" | "cylinder" | "ellipsoid";
type Triple = [number, number, number];
type Four = [number, number, number, number];

export interface Geom {
  kind: Kind;
  size: Triple;
  frame: number;
  color: Four;
  name: string;
  position: Triple;
  quaternion: Four;
}

export interface Cord {
  radius: number;
  color: Four;
  name: string;
  // each a frame, or -1, and a position in it
  points: Four[];
}

// From where to look at it; see view3d.py.
export interface View {
  size: number;
  travels: boolean;
  middle: Triple;
  low: number;
  azimuth: number;
  elevation: number;
}

interface Body {
  name: string;
  geoms: Geom[];
  cords: Cord[];
}

interface RawRun {
  name: string;
  body: number;
  frames: number;
  view: View;
  still: number[][];
  moving: number[];
  centre: string;
  positions: Packed;
  quaternions: string;
  values: (Packed & { name: string })[];
  contacts: { counts: string; points: Packed; forces: Packed } | null;
}

export interface Raw {
  title: string;
  dt: number;
  bodies: Body[];
  runs: RawRun[];
}

export interface Contacts {
  // contacts of time t are those from starts[t] to starts[t + 1]
  starts: Uint32Array;
  points: Float32Array;
  forces: Float64Array;
}

export interface Run extends Episode {
  geoms: Geom[];
  cords: Cord[];
  view: View;
  still: number[][];
  moving: number[];
  // the middle of what moves, [frames, 3]
  centre: Float32Array;
  // of what moves, [frames, moving, 3] and [frames, moving, 4] as x, y, z, w
  positions: Float32Array;
  quaternions: Float32Array;
  contacts: Contacts | null;
}

export interface SolidFilm extends Film {
  runs: Run[];
}

export function unpackFilm(raw: Raw): SolidFilm {
  const runs = raw.runs.map((run) => unpackRun(run, raw.bodies[run.body]));
  return { title: raw.title, dt: raw.dt, timed: true, left: 0, frames: Math.max(...runs.map((run) => run.frames)), runs };
}

function unpackRun(raw: RawRun, { geoms, cords }: Body): Run {
  const centre = new Float32Array(bytes(raw.centre));
  const counts = raw.contacts ? new Uint16Array(bytes(raw.contacts.counts)) : null;
  return {
    name: raw.name,
    geoms,
    cords,
    view: raw.view,
    frames: raw.frames,
    still: raw.still,
    moving: raw.moving,
    centre,
    positions: around(centre, raw.positions, (i) => Math.floor(i / raw.moving.length)),
    quaternions: unpackQuaternions(new Uint16Array(bytes(raw.quaternions))),
    values: raw.values.map((value) => ({ name: value.name, data: unpack(value) })),
    contacts: raw.contacts && counts ? unpackContacts(raw.contacts, counts, centre) : null,
  };
}

function unpackContacts(raw: NonNullable<RawRun["contacts"]>, counts: Uint16Array, centre: Float32Array): Contacts {
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((count, t) => (starts[t + 1] = starts[t] + count));
  const times = new Uint32Array(starts[counts.length]);
  counts.forEach((_, t) => times.fill(t, starts[t], starts[t + 1]));
  return { starts, points: around(centre, raw.points, (i) => times[i]), forces: unpack(raw.forces) };
}

// Points that were written relative to the centre at their time.
function around(centre: Float32Array, packed: Packed, time: (i: number) => number): Float32Array {
  const points = new Float32Array(unpack(packed));
  for (let i = 0; i < points.length; i += 1) points[i] += centre[3 * time(Math.floor(i / 3)) + (i % 3)];
  return points;
}

function unpackQuaternions(words: Uint16Array): Float32Array {
  const found = new Float32Array((words.length / 3) * 4);
  const q = [0, 0, 0, 0];
  for (let i = 0; i < words.length / 3; i += 1) {
    const largest = (words[3 * i] >> 15) * 2 + (words[3 * i + 1] >> 15);
    let left = 1;
    for (let k = 0; k < 3; k += 1) {
      const small = ((words[3 * i + k] & 32767) / 32767 - 0.5) * Math.SQRT2;
      q[k + (k >= largest ? 1 : 0)] = small;
      left -= small * small;
    }
    q[largest] = Math.sqrt(Math.max(0, left));
    found.set([q[1], q[2], q[3], q[0]], 4 * i);
  }
  return found;
}
