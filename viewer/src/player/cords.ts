// Cords: a rod from point to point and a ball at each, placed anew for every picture.
import { CylinderGeometry, Mesh, Object3D, SphereGeometry, Vector3 } from "three";
import type { Cord } from "./film";
import { materialOf } from "./geoms";

const UP = new Vector3(0, 0, 1);
const BALL = new SphereGeometry(1, 16, 12);
const ROD = new CylinderGeometry(1, 1, 1, 16, 1, true).rotateX(Math.PI / 2);
const [start, end] = [new Vector3(), new Vector3()];

export class DrawnCord {
  readonly balls: Mesh[];
  readonly rods: Mesh[];

  constructor(readonly cord: Cord) {
    this.balls = cord.points.map(([, ...place]) => {
      const ball = this.part(BALL);
      ball.position.fromArray(place);
      ball.scale.setScalar(cord.radius);
      return ball;
    });
    this.rods = cord.points.slice(1).map(() => this.part(ROD));
  }

  // Rods lie where the frames that carry the balls are; these have no parent but the environment itself.
  lay(carrier: (frame: number) => Object3D): void {
    const at = (i: number, out: Vector3) => {
      const [frame, ...place] = this.cord.points[i];
      out.fromArray(place);
      if (frame < 0) return;
      const { position, quaternion } = carrier(frame);
      out.applyQuaternion(quaternion).add(position);
    };
    this.rods.forEach((rod, i) => {
      at(i, start);
      at(i + 1, end);
      const length = start.distanceTo(end);
      rod.visible = length > 0;
      rod.position.copy(start).lerp(end, 0.5);
      rod.scale.set(this.cord.radius, this.cord.radius, length);
      if (rod.visible) rod.quaternion.setFromUnitVectors(UP, end.sub(start).divideScalar(length));
    });
  }

  private part(geometry: SphereGeometry | CylinderGeometry): Mesh {
    const mesh = new Mesh(geometry, materialOf(this.cord.color, false));
    mesh.castShadow = this.cord.color[3] > 0.5;
    mesh.receiveShadow = true;
    mesh.name = this.cord.name;
    return mesh;
  }
}
