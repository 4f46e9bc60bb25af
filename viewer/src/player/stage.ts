// The picture: environments side by side on a floor, light, shadows, and the camera.
import {
  ACESFilmicToneMapping,
  DirectionalLight,
  HemisphereLight,
  MathUtils,
  NoToneMapping,
  PCFShadowMap,
  PerspectiveCamera,
  Raycaster,
  Scene,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { Actor } from "./actor";
import type { SolidFilm } from "./film";
import { Floor } from "./floor";
import { isFloor } from "./geoms";
import { Orbit } from "./orbit";
import { isDark, variable } from "../shared/theme";
import { Touches } from "./touches";

const LIGHT_FROM = new Vector3(-0.45, -0.5, 1).normalize();
const IN_A_ROW = 6;
// how much farther away the camera stands than from where several environments just fit
const ROOM = 1.03;
const ASPECT_ONE = 1.1;

export class Stage {
  readonly actors: Actor[];
  readonly orbit: Orbit;
  readonly touches: Touches;
  // -1: all of them
  selected: number;
  following = true;
  private readonly scene = new Scene();
  private readonly renderer: WebGLRenderer;
  private readonly floor: Floor;
  private readonly sun = new DirectionalLight();
  private readonly sky = new HemisphereLight();
  private readonly size: number;
  private readonly reach: number;
  private places: Vector3[] = [];
  // the first view's azimuth and elevation
  private front: [number, number] = [0, 0];
  private near = 1;

  constructor(film: SolidFilm, canvas: HTMLCanvasElement, context: WebGL2RenderingContext, changed: () => void) {
    this.renderer = new WebGLRenderer({ canvas, context });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.setClearAlpha(0);
    this.size = Math.max(...film.runs.map((run) => run.view.size));
    const floors = film.runs.flatMap((run) => run.geoms.filter(isFloor)).map((geom) => geom.position[2]);
    const low = Math.min(...film.runs.map((run) => run.view.low));
    const floor = floors.length ? Math.min(...floors) : low - 0.1 * this.size;
    this.actors = film.runs.map((run) => new Actor(run, film.dt, floor, this.size));
    const reach = placeSideBySide(this.actors, this.size);
    this.floor = new Floor(floor, this.size);
    this.touches = new Touches(this.actors, 0.5 * this.size);
    this.orbit = new Orbit(new PerspectiveCamera(35, 1, 0.1, 100), canvas, floors.length ? 0.02 : -1.54, changed);
    this.selected = this.actors.length > 1 ? -1 : 0;
    this.light();
    this.scene.add(this.floor.root, this.touches.root, ...this.actors.map((actor) => actor.root));
    this.reach = reach;
    this.look();
    this.paint();
  }

  draw(at: number): { count: number; newtons: number } {
    for (const actor of this.actors) actor.pose(at);
    if (this.following) this.aim(this.chosen.map((actor) => actor.centre(at, new Vector3())));
    this.orbit.home = this.distance();
    this.orbit.apply();
    this.floor.follow(this.orbit.target);
    this.sun.target.position.copy(this.orbit.target);
    this.sun.position.copy(this.orbit.target).addScaledVector(LIGHT_FROM, 30 * this.size);
    this.sun.target.updateMatrixWorld();
    const found = this.touches.root.visible ? this.touches.show(at, this.chosen) : { count: 0, newtons: 0 };
    this.renderer.render(this.scene, this.orbit.camera);
    return found;
  }

  resize(width: number, height: number): void {
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    this.renderer.setSize(width, height, false);
    this.orbit.camera.aspect = width / Math.max(1, height);
  }

  // Colours of the scheme that is on.
  paint(): void {
    const dark = isDark();
    this.floor.paint(variable("ground"), variable("gridline"), dark ? 0.5 : 0.24);
    this.touches.paint(variable("focus"));
    this.renderer.toneMapping = dark ? ACESFilmicToneMapping : NoToneMapping;
    this.sun.intensity = dark ? 2.3 : 1.95;
    this.sky.intensity = dark ? 1.2 : 1.65;
    this.sky.color.set(dark ? "#b9cbe8" : "#ffffff");
    this.sky.groundColor.set(dark ? "#4a5260" : "#a9aeb8");
  }

  select(index: number): void {
    this.selected = index;
    this.look();
  }

  // The first view: of one environment from near, of several from higher up. Who stays in the picture is not followed.
  look(): void {
    const one = this.selected >= 0;
    const views = this.chosen.map((actor) => actor.run.view);
    const [azimuth, elevation] = [views[0].azimuth, Math.max(...views.map((view) => view.elevation))];
    this.following = views.some((view) => view.travels);
    this.near = this.following ? 1.8 : 1.55;
    this.aim(this.chosen.map(({ run, root }) => new Vector3(...run.view.middle).add(root.position)));
    this.front = one ? [azimuth, elevation] : [-0.5, Math.max(0.42, elevation)];
    this.orbit.look(...this.front);
    this.spread((one ? 0 : this.reach) + 1.6 * this.size);
  }

  // Stop or start moving with the figure, without a jump when it stops.
  follow(on: boolean): void {
    this.following = on;
    if (on) this.orbit.pan.set(0, 0, 0);
  }

  // The name of the geom at a place of the picture (each from -1 to 1), or nothing.
  nameAt(x: number, y: number): string {
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2(x, y), this.orbit.camera);
    const hits = ray.intersectObjects(this.actors.flatMap((actor) => actor.meshes), false);
    return hits.length ? hits[0].object.name : "";
  }

  // Where a label of an environment belongs, in pixels; null behind the camera.
  labelAt(actor: Actor, at: number, width: number, height: number): { x: number; y: number } | null {
    const place = actor.centre(at, new Vector3());
    place.z += actor.tall + 0.04 * this.size;
    place.project(this.orbit.camera);
    return place.z > 1 ? null : { x: (0.5 + 0.5 * place.x) * width, y: (0.5 - 0.5 * place.y) * height };
  }

  private get chosen(): Actor[] {
    return this.selected < 0 ? this.actors : [this.actors[this.selected]];
  }

  // Look at the middle of places.
  private aim(places: Vector3[]): void {
    this.orbit.anchor.set(0, 0, 0);
    for (const place of places) this.orbit.anchor.addScaledVector(place, 1 / places.length);
    this.places = places;
  }

  // How far away from the middle the camera stands in the first view of these places, if nobody zooms.
  private distance(): number {
    const { aspect } = this.orbit.camera;
    if (this.places.length === 1) return this.near * this.size * Math.max(1, ASPECT_ONE / aspect);
    return ROOM * this.fitting(aspect);
  }

  // From how far away balls around the places are all within the four sides of the picture.
  private fitting(aspect: number): number {
    const [azimuth, elevation] = this.front;
    const back = new Vector3(Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation));
    const right = new Vector3(-Math.sin(azimuth), Math.cos(azimuth), 0);
    const half = Math.tan(MathUtils.degToRad(this.orbit.camera.fov / 2));
    let distance = 0;
    for (const [slope, side] of [[half * aspect, right], [half, back.clone().cross(right)]] as const) {
      for (const place of this.places) {
        const from = place.clone().sub(this.orbit.anchor);
        const outermost = Math.abs(from.dot(side)) + 0.5 * this.size * Math.hypot(1, slope);
        distance = Math.max(distance, from.dot(back) + outermost / slope);
      }
    }
    return distance;
  }

  private light(): void {
    this.sky.position.set(0, 0, 1);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0006;
    this.sun.shadow.radius = 3;
    this.scene.add(this.sun, this.sun.target, this.sky);
  }

  // Shadows reach so far around the target; a smaller area has sharper ones.
  private spread(half: number): void {
    const { shadow } = this.sun;
    Object.assign(shadow.camera, { left: -half, right: half, top: half, bottom: -half, near: this.size, far: 60 * this.size });
    shadow.camera.updateProjectionMatrix();
    shadow.normalBias = (4 * half) / 2048;
  }
}

// In rows across the way they face (x), the first at the back on the left; returns how far the outermost reach from the middle.
function placeSideBySide(actors: Actor[], size: number): number {
  const columns = actors.length <= IN_A_ROW ? actors.length : Math.ceil(Math.sqrt(actors.length));
  const rows = Math.ceil(actors.length / columns);
  const gap = Math.max(...actors.map((actor) => sideways(actor, size)));
  actors.forEach((actor, k) => {
    const [row, column] = [Math.floor(k / columns), k % columns];
    actor.root.position.set(1.6 * gap * (row - (rows - 1) / 2), gap * (column - (columns - 1) / 2), 0);
  });
  return size / 2 + Math.max(((columns - 1) / 2) * gap, ((rows - 1) / 2) * 1.6 * gap);
}

// Room for one environment: its width, and its way to the side up to its size.
function sideways({ run }: Actor, size: number): number {
  let way = 0;
  for (let t = 0; t < run.frames; t += 1) way = Math.max(way, Math.abs(run.centre[3 * t + 1] - run.centre[1]));
  return size + Math.min(way, 0.8 * size);
}
