// Contact points as dots and their forces as arrows, drawn over everything else.
import {
  Color,
  ConeGeometry,
  CylinderGeometry,
  Group,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import type { Actor } from "./actor";

const UP = new Vector3(0, 0, 1);

export class Touches {
  readonly root = new Group();
  private readonly dots: InstancedMesh;
  private readonly shafts: InstancedMesh;
  private readonly heads: InstancedMesh;
  private readonly material = new MeshBasicMaterial({ depthTest: false, toneMapped: false, transparent: true, opacity: 0.92 });
  private readonly metresPerNewton: number;

  constructor(
    private readonly actors: Actor[],
    private readonly size: number,
  ) {
    const most = actors.reduce((sum, actor) => sum + mostAtOnce(actor), 0);
    const cylinder = new CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    const cone = new ConeGeometry(1, 1, 14).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    this.dots = new InstancedMesh(new SphereGeometry(1, 14, 10), this.material, most);
    this.shafts = new InstancedMesh(cylinder, this.material, most);
    this.heads = new InstancedMesh(cone, this.material, most);
    for (const mesh of [this.dots, this.shafts, this.heads]) {
      mesh.frustumCulled = false;
      mesh.renderOrder = 9;
      this.root.add(mesh);
    }
    this.metresPerNewton = (0.9 * size) / usualForce(actors);
    this.root.visible = false;
  }

  get available(): boolean {
    return this.dots.instanceMatrix.count > 0;
  }

  paint(color: string): void {
    this.material.color = new Color(color);
  }

  // Set all arrows for a time; returns how many contacts those in `counted` have and what their forces sum up to.
  show(at: number, counted: Actor[]): { count: number; newtons: number } {
    let drawn = 0;
    let count = 0;
    let newtons = 0;
    const [point, force] = [new Vector3(), new Vector3()];
    for (const actor of this.actors) {
      const { run, root } = actor;
      const counts = counted.includes(actor);
      const t = Math.min(Math.floor(at), run.frames - 1);
      if (!run.contacts) continue;
      for (let i = run.contacts.starts[t]; i < run.contacts.starts[t + 1]; i += 1) {
        point.fromArray(run.contacts.points, 3 * i).add(root.position);
        force.fromArray(run.contacts.forces, 3 * i);
        this.place(drawn, point, force);
        drawn += 1;
        if (!counts) continue;
        newtons += force.length();
        count += 1;
      }
    }
    for (const mesh of [this.dots, this.shafts, this.heads]) {
      mesh.count = drawn;
      mesh.instanceMatrix.needsUpdate = true;
    }
    return { count, newtons };
  }

  private place(i: number, point: Vector3, force: Vector3): void {
    const thick = 0.012 * this.size;
    const whole = Math.min(force.length() * this.metresPerNewton, 1.3 * this.size);
    const head = Math.min(6 * thick, 0.6 * whole);
    const turn = new Quaternion().setFromUnitVectors(UP, force.clone().normalize());
    const tip = point.clone().addScaledVector(force.clone().normalize(), whole - head);
    const matrix = new Matrix4();
    this.dots.setMatrixAt(i, matrix.compose(point, turn, new Vector3(1, 1, 1).multiplyScalar(2.2 * thick)));
    this.shafts.setMatrixAt(i, matrix.compose(point, turn, new Vector3(thick, thick, whole - head)));
    this.heads.setMatrixAt(i, matrix.compose(tip, turn, new Vector3(2.4 * thick, 2.4 * thick, head)));
  }
}

function mostAtOnce({ run: { contacts } }: Actor): number {
  let most = 0;
  if (contacts) contacts.starts.forEach((start, t) => (most = Math.max(most, (contacts.starts[t + 1] ?? start) - start)));
  return most;
}

// Nineteen of twenty forces are smaller, unless nearly all are next to nothing.
function usualForce(actors: Actor[]): number {
  const sizes: number[] = [];
  for (const { run } of actors) {
    const forces = run.contacts?.forces ?? [];
    for (let i = 0; i < forces.length; i += 3) sizes.push(Math.hypot(forces[i], forces[i + 1], forces[i + 2]));
  }
  sizes.sort((a, b) => a - b);
  const last = sizes.length - 1;
  return Math.max(sizes[Math.floor(0.95 * last)] ?? 0, 0.05 * (sizes[last] ?? 0), 0.01);
}
