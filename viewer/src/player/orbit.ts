// A camera that looks at a point, turned around it by mouse, touch or keys. The point is an anchor, which the stage
// moves when the camera follows something, plus what the reader added by panning.
import { MathUtils, PerspectiveCamera, Vector3 } from "three";

const HIGHEST = 1.54;

export class Orbit {
  readonly anchor = new Vector3();
  readonly pan = new Vector3();
  readonly target = new Vector3();
  azimuth = 0;
  elevation = 0;
  // how far away the first view is taken from; it changes with the picture's form and while what is followed spreads
  home = 1;
  private readonly fingers = new Map<number, { x: number; y: number }>();
  // how much farther than that the reader went
  private zoomed = 1;

  constructor(
    readonly camera: PerspectiveCamera,
    private readonly node: HTMLElement,
    private readonly lowest: number,
    private readonly changed: () => void,
  ) {
    camera.up.set(0, 0, 1);
    node.addEventListener("pointerdown", (event) => this.down(event));
    node.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"] as const) {
      node.addEventListener(name, (event) => this.fingers.delete(event.pointerId));
    }
    node.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    node.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  get dragging(): boolean {
    return this.fingers.size > 0;
  }

  // A view to start from, at home.
  look(azimuth: number, elevation: number): void {
    Object.assign(this, { azimuth, elevation, zoomed: 1 });
    this.pan.set(0, 0, 0);
    this.changed();
  }

  turn(azimuth: number, elevation: number): void {
    this.azimuth += azimuth;
    this.elevation = MathUtils.clamp(this.elevation + elevation, this.lowest, HIGHEST);
    this.changed();
  }

  zoom(factor: number): void {
    this.zoomed = MathUtils.clamp(this.zoomed * factor, 1 / 40, 12);
    this.changed();
  }

  // Place the camera.
  apply(): void {
    const { camera, elevation, azimuth } = this;
    const far = this.home * this.zoomed;
    this.target.addVectors(this.anchor, this.pan);
    camera.position
      .set(Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation))
      .multiplyScalar(far)
      .add(this.target);
    camera.near = far / 100;
    camera.far = 60 * Math.max(far, this.home);
    camera.lookAt(this.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
  }

  private down(event: PointerEvent): void {
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (event.isTrusted) this.node.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    const finger = this.fingers.get(event.pointerId);
    if (!finger) return;
    const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
    const before = this.spread();
    finger.x = event.clientX;
    finger.y = event.clientY;
    if (this.fingers.size > 1) {
      this.slide(dx / this.fingers.size, dy / this.fingers.size);
      if (before > 0 && this.spread() > 0) this.zoom(before / this.spread());
    } else if (event.shiftKey || (event.buttons & 6) !== 0) this.slide(dx, dy);
    else this.turn(-0.007 * dx, 0.007 * dy);
  }

  // How far the first two fingers lie apart.
  private spread(): number {
    const [a, b] = [...this.fingers.values()];
    return b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  }

  private slide(dx: number, dy: number): void {
    const height = 2 * Math.tan(MathUtils.degToRad(this.camera.fov / 2)) * this.camera.position.distanceTo(this.target);
    const pixel = height / Math.max(1, this.node.clientHeight);
    const right = new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const up = new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
    this.pan.addScaledVector(right, -dx * pixel).addScaledVector(up, dy * pixel);
    this.changed();
  }

  private wheel(event: WheelEvent): void {
    // in a page that scrolls the wheel is the page's
    if (!event.ctrlKey && !event.metaKey && this.node.closest(".embedded:not(:fullscreen)")) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    this.zoom(Math.exp(MathUtils.clamp(event.deltaY * lines, -200, 200) * 0.0015));
  }
}
