// A floor without end: lines every metre (or whatever suits the figure), shadows, and a fade into the background.
import { Color, Group, Mesh, PlaneGeometry, ShaderMaterial, ShadowMaterial, Vector2, Vector3 } from "three";

const VERTEX = `
  varying vec3 place;
  void main() {
    vec4 world = modelMatrix * vec4(position, 1.0);
    place = world.xyz;
    gl_Position = projectionMatrix * viewMatrix * world;
  }`;

// A line is drawn as wide as a pixel and a half, fainter where lines run together in the distance.
const FRAGMENT = `
  uniform vec3 base;
  uniform vec3 line;
  uniform vec2 middle;
  uniform float cell;
  uniform float reach;
  varying vec3 place;
  float lines(float size, float width) {
    vec2 p = place.xy / size;
    vec2 slope = fwidth(p);
    vec2 away = abs(fract(p - 0.5) - 0.5) / slope;
    vec2 one = (1.0 - smoothstep(width - 0.5, width + 0.5, away)) * (1.0 - smoothstep(0.15, 0.6, slope));
    return max(one.x, one.y);
  }
  void main() {
    float fade = 1.0 - smoothstep(0.1, 1.0, distance(place.xy, middle) / reach);
    float strength = max(0.5 * lines(cell, 0.6), lines(5.0 * cell, 0.9));
    gl_FragColor = vec4(mix(base, line, strength), fade);
    #include <colorspace_fragment>
  }`;

export class Floor {
  readonly root = new Group();
  private readonly grid: ShaderMaterial;
  private readonly shade = new ShadowMaterial({ transparent: true });

  constructor(height: number, size: number) {
    const reach = 22 * size;
    this.grid = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      uniforms: {
        base: { value: new Color() },
        line: { value: new Color() },
        middle: { value: new Vector2() },
        cell: { value: roundLength(size / 2) },
        reach: { value: reach },
      },
    });
    const ground = new Mesh(new PlaneGeometry(2 * reach, 2 * reach), this.grid);
    const shadow = new Mesh(new PlaneGeometry(2 * reach, 2 * reach), this.shade);
    this.shade.depthWrite = false;
    shadow.receiveShadow = true;
    // before geoms that one sees through
    ground.renderOrder = -2;
    shadow.renderOrder = -1;
    this.root.add(ground, shadow);
    this.root.position.z = height;
  }

  // Under the camera's target; the lines stay where they are in the world.
  follow(target: Vector3): void {
    this.root.position.x = target.x;
    this.root.position.y = target.y;
    (this.grid.uniforms.middle.value as Vector2).set(target.x, target.y);
  }

  paint(base: string, line: string, shadow: number): void {
    (this.grid.uniforms.base.value as Color).set(base);
    (this.grid.uniforms.line.value as Color).set(line);
    this.shade.opacity = shadow;
  }
}

// 1, 2 or 5 times a power of ten, at most x.
export function roundLength(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * (x >= 5 * power ? 5 : x >= 2 * power ? 2 : 1);
}
