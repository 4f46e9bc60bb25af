// Geoms as meshes. Sizes are MuJoCo's: half sizes, capsules and cylinders along z.
import {
  BoxGeometry,
  BufferGeometry,
  CapsuleGeometry,
  CylinderGeometry,
  DoubleSide,
  FrontSide,
  Mesh,
  MeshStandardMaterial,
  PlaneGeometry,
  Quaternion,
  SphereGeometry,
  SRGBColorSpace,
  Vector3,
} from "three";
import type { Geom } from "./film";

const ENDLESS = 5;
const materials = new Map<string, MeshStandardMaterial>();

// Planes that lie flat in the world and are large are drawn as the floor that fades into the distance.
export function isFloor(geom: Geom): boolean {
  if (geom.kind !== "plane" || geom.frame >= 0) return false;
  const wide = geom.size.slice(0, 2).every((half) => half === 0 || half >= ENDLESS);
  const [w, x, y, z] = geom.quaternion;
  return wide && new Vector3(0, 0, 1).applyQuaternion(new Quaternion(x, y, z, w).normalize()).z > 0.999;
}

// Planes without end go on for `far` metres from their middle.
export function meshOf(geom: Geom, far: number): Mesh {
  const mesh = new Mesh(geometryOf(geom, far), materialOf(geom.color, geom.kind === "plane"));
  const [w, x, y, z] = geom.quaternion;
  mesh.position.fromArray(geom.position);
  mesh.quaternion.set(x, y, z, w).normalize();
  if (geom.kind === "ellipsoid") mesh.scale.fromArray(geom.size);
  mesh.castShadow = geom.kind !== "plane" && geom.color[3] > 0.5;
  mesh.receiveShadow = true;
  mesh.name = geom.name;
  return mesh;
}

function geometryOf({ kind, size: [a, b, c] }: Geom, far: number): BufferGeometry {
  switch (kind) {
    case "plane":
      return new PlaneGeometry(2 * (a || far), 2 * (b || far));
    case "sphere":
      return new SphereGeometry(a, 40, 24);
    case "ellipsoid":
      return new SphereGeometry(1, 40, 24);
    case "capsule":
      return new CapsuleGeometry(a, 2 * b, 10, 28).rotateX(Math.PI / 2);
    case "cylinder":
      return new CylinderGeometry(a, a, 2 * b, 40).rotateX(Math.PI / 2);
    case "box":
      return new BoxGeometry(2 * a, 2 * b, 2 * c);
  }
}

export function materialOf(color: Geom["color"], flat: boolean): MeshStandardMaterial {
  const [r, g, b, opacity] = color;
  const key = `${color}|${flat}`;
  let material = materials.get(key);
  if (!material) {
    material = new MeshStandardMaterial({
      roughness: 0.62,
      metalness: 0.02,
      opacity,
      transparent: opacity < 1,
      depthWrite: opacity >= 1,
      side: flat ? DoubleSide : FrontSide,
    });
    material.color.setRGB(r, g, b, SRGBColorSpace);
    materials.set(key, material);
  }
  return material;
}
