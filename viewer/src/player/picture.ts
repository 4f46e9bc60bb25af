// What a player needs of the picture that it plays, be it flat or in space.
import type { Keys } from "./keys";

export interface Episode {
  name: string;
  frames: number;
  values: { name: string; data: Float64Array }[];
}

export interface Film {
  title: string;
  // seconds from frame to frame at speed 1
  dt: number;
  // whether those are seconds of the world that is shown; if not, time is told in steps
  timed: boolean;
  frames: number;
  runs: Episode[];
  // frames that the page leaves out
  left: number;
}

// A button that is pressed or not, beside those that every picture has.
export interface Switch {
  text: string;
  label: string;
  pressed(): boolean;
  press(): void;
}

export interface Picture {
  readonly node: HTMLElement;
  // of the film's runs; -1: all of them
  readonly selected: number;
  readonly switches: Switch[];
  // beside those of the player
  readonly keys: Keys;
  readonly help: { pointer: [string, string][]; keys: [string, string][] };
  // Height over width, where the picture has a shape of its own.
  readonly aspect: number | null;
  // The first view again, where there are several.
  readonly reset: (() => void) | null;
  // Show a time; returns what is worth telling about it.
  draw(at: number): string;
  resize(width: number, height: number): void;
  // Colours of the scheme that is on.
  paint(): void;
  select(index: number): void;
}
