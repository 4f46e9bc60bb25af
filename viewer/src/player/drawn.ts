// One environment in the plane: its shapes as SVG, and the way of what moves most.
import { svg } from "../shared/dom";

// kind, colour, numbers (and, last, a text); see film2d.py
export type Shape = [string, string, ...(number | string)[]];

export interface Drawn {
  width: number;
  height: number;
  backgrounds: Shape[][];
  frames: { background: number; shapes: Shape[] }[];
}

// Loads all images before they are shown: one that is still to be read would leave its frame empty for a moment.
export function loaded({ backgrounds, frames }: Drawn): HTMLImageElement[] {
  const shapes = [...backgrounds, ...frames.map((frame) => frame.shapes)].flat();
  const files = new Set(shapes.filter(([kind]) => kind === "i").map((shape) => String(shape[7])));
  return [...files].map((src) => Object.assign(new Image(), { src }));
}

export function shapeNode([kind, fill, ...at]: Shape): SVGElement {
  const round = { "stroke-linecap": "round", "stroke-linejoin": "round" };
  switch (kind) {
    case "r":
      return svg("rect", { x: at[0], y: at[1], width: at[2], height: at[3], rx: at[4] || null, fill });
    case "c":
      return svg("circle", { cx: at[0], cy: at[1], r: at[2], fill });
    case "l":
      return svg("line", { x1: at[0], y1: at[1], x2: at[2], y2: at[3], "stroke-width": at[4], stroke: fill, ...round });
    case "g":
      return svg("polygon", { points: at.join(" "), fill });
    case "p":
      return svg("polyline", { points: at.slice(1).join(" "), fill: "none", "stroke-width": at[0], stroke: fill, ...round });
    case "i": {
      const look = at[4] ? "auto" : "pixelated";
      return svg("image", { x: at[0], y: at[1], width: at[2], height: at[3], href: at[5], preserveAspectRatio: "none", "image-rendering": look, decoding: "sync" });
    }
    default:
      return svg("text", { x: at[0], y: at[1], "font-size": at[2], fill, "text-anchor": "middle", "dominant-baseline": "central" }, String(at[3]));
  }
}

// By how much the corners are rounded of the sheet that all else is drawn on; 0 where there is none.
export function sheetRadius({ width, height, backgrounds }: Drawn): number {
  const [kind, , ...at] = backgrounds[0]?.[0] ?? [];
  const [x, y, across, down, radius] = at.map(Number);
  // numbers of shapes are rounded, the picture's size is not
  const whole = kind === "r" && x <= 0 && y <= 0 && across >= 0.99 * width && down >= 0.99 * height;
  return whole ? radius : 0;
}

// Where the shape went that moves most: its place in every frame, or nothing if no shape is there all the time, if
// lines and areas move, which is no walk but a machine, or if many shapes move, which is a crowd.
export function trail({ frames }: Drawn): [number, number][] {
  const drawn = frames.map((frame) => JSON.stringify(frame.shapes.filter(([kind]) => "lgp".includes(kind))));
  if (new Set(drawn).size > 1) return [];
  const ways = frames[0].shapes.map((shape, k) => frames.map((frame) => (frame.shapes[k]?.[0] === shape[0] ? centre(frame.shapes[k]) : null)));
  const moving = ways.filter((places) => places.every((place) => place !== null) && new Set(places.map(String)).size > 1);
  if (moving.length > 3) return [];
  return (moving.sort((a, b) => new Set(b.map(String)).size - new Set(a.map(String)).size)[0] ?? []) as [number, number][];
}

function centre([kind, , ...at]: Shape): [number, number] | null {
  const [x, y, width, height] = at as number[];
  if (kind === "r") return [x + width / 2, y + height / 2];
  return kind === "c" ? [x, y] : null;
}
