// One environment in the scene: its geoms on frames that follow the film, and its cords.
import { Box3, Group, Mesh, Object3D, Quaternion, Vector3 } from "three";
import { DrawnCord } from "./cords";
import type { Run } from "./film";
import { isFloor, meshOf } from "./geoms";

// how far one sees what has no end, as a multiple of the figure's size
const HORIZON = 1000;

export class Actor {
  readonly root = new Group();
  readonly meshes: Mesh[] = [];
  // how high above its centre its label stands
  readonly tall: number;
  private readonly frames = new Map<number, Object3D>();
  private readonly cords: DrawnCord[];
  private readonly path: Float32Array;

  constructor(
    readonly run: Run,
    dt: number,
    floor: number,
    size: number,
  ) {
    const far = HORIZON * size + furthest(run.centre);
    for (const geom of run.geoms) {
      // others that lie flat, such as a platform's top, are solids
      const isTheFloor = isFloor(geom) && geom.position[2] === floor;
      if (isTheFloor || geom.color[3] === 0) continue;
      const mesh = meshOf(geom, far);
      this.meshes.push(mesh);
      this.carrier(geom.frame).add(mesh);
    }
    this.cords = run.cords.filter((cord) => cord.color[3] > 0).map((cord) => new DrawnCord(cord));
    for (const { cord, balls, rods } of this.cords) {
      balls.forEach((ball, i) => this.carrier(cord.points[i][0]).add(ball));
      this.root.add(...rods);
      this.meshes.push(...balls, ...rods);
    }
    for (const [n, x, y, z, qw, qx, qy, qz] of run.still) {
      this.carrier(n).position.set(x, y, z);
      this.carrier(n).quaternion.set(qx, qy, qz, qw);
    }
    this.path = smoothed(run.centre, dt);
    this.pose(0);
    const box = this.bounds();
    this.tall = Math.max(box.max.z - this.path[2], 0.42 * box.getSize(other).length());
  }

  // Between two frames positions go straight and rotations turn evenly.
  pose(at: number): void {
    const { run } = this;
    const t = Math.min(run.frames - 1, at);
    const i = Math.min(Math.floor(t), Math.max(0, run.frames - 2));
    const share = t - i;
    const next = Math.min(i + 1, run.frames - 1);
    run.moving.forEach((n, k) => {
      const node = this.frames.get(n);
      if (!node) return;
      const [a, b] = [i * run.moving.length + k, next * run.moving.length + k];
      node.position.fromArray(run.positions, 3 * a).lerp(other.fromArray(run.positions, 3 * b), share);
      node.quaternion.fromArray(run.quaternions, 4 * a).slerp(turn.fromArray(run.quaternions, 4 * b), share);
    });
    for (const cord of this.cords) cord.lay((frame) => this.carrier(frame));
  }

  // The middle of what moves, calmed, so that a camera which follows it does not shake.
  centre(at: number, out: Vector3): Vector3 {
    const i = Math.min(Math.floor(at), this.run.frames - 1);
    const next = Math.min(i + 1, this.run.frames - 1);
    out.fromArray(this.path, 3 * i).lerp(other.fromArray(this.path, 3 * next), at - i);
    return out.add(this.root.position);
  }

  // What its moving parts fill as they stand, or everything but planes if nothing moves.
  bounds(): Box3 {
    const box = new Box3();
    const moving = new Set(this.run.moving.map((n) => this.frames.get(n) ?? null));
    const parts = this.meshes.filter((mesh) => moving.has(mesh.parent));
    this.root.updateMatrixWorld(true);
    for (const mesh of parts.length ? parts : this.meshes) {
      if (mesh.geometry.type !== "PlaneGeometry") box.expandByObject(mesh);
    }
    return box.isEmpty() ? box.setFromCenterAndSize(this.root.position, new Vector3(1, 1, 1)) : box;
  }

  private carrier(frame: number): Object3D {
    if (frame < 0) return this.root;
    let node = this.frames.get(frame);
    if (!node) {
      node = new Object3D();
      this.frames.set(frame, node);
      this.root.add(node);
    }
    return node;
  }
}

const other = new Vector3();
const turn = new Quaternion();

// How far a way leads from the origin along an axis.
function furthest(path: Float32Array): number {
  return path.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
}

// Means over a window around each time: a fifth of a second along the ground, a second in height.
function smoothed(path: Float32Array, dt: number): Float32Array {
  const count = path.length / 3;
  const found = new Float32Array(path.length);
  for (let axis = 0; axis < 3; axis += 1) {
    const sums = new Float64Array(count + 1);
    for (let t = 0; t < count; t += 1) sums[t + 1] = sums[t] + path[3 * t + axis];
    const widest = Math.round((axis === 2 ? 0.5 : 0.1) / dt);
    for (let t = 0; t < count; t += 1) {
      const reach = Math.min(widest, t, count - 1 - t);
      found[3 * t + axis] = (sums[t + reach + 1] - sums[t - reach]) / (2 * reach + 1);
    }
  }
  return found;
}
