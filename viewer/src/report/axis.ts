// The horizontal axis of all curves, which the reader chooses: steps, or the time that training took.
import { ticks } from "../shared/scales";
import { prefixed, significant, whole } from "../shared/text";
import type { Chart } from "./data";

export type AxisName = "step" | "seconds";

export class Axis {
  name: AxisName = "step";
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  choose(name: AxisName): void {
    this.name = name;
    for (const listener of this.listeners) listener();
  }

  // Where the reports of a chart lie.
  places(chart: Pick<Chart, AxisName>): number[] {
    return (this.name === "seconds" ? chart.seconds : null) ?? chart.step;
  }

  label(end: number): string {
    return this.name === "step" ? "steps of each agent" : `training time in ${unitOf(end)[1]}, compiling included`;
  }

  // What is at a place, in words.
  at(place: number): string {
    return this.name === "step" ? `at step ${whole(place)}` : `after ${duration(place)}`;
  }

  // From 0, or after compiling where that is much of the whole time; to the last report.
  range(places: number[]): [start: number, end: number] {
    const [first, second, last] = [places[0], places[1] ?? places[0], places[places.length - 1]];
    const late = this.name === "seconds" && first > 0.25 * last;
    const start = late ? Math.max(0, first - (second - first)) : 0;
    return [start, last > start ? last : start + 1];
  }

  splits(start: number, end: number, count: number): number[] {
    const unit = this.unit(end);
    return ticks(start / unit, end / unit, count).map((t) => t * unit);
  }

  tick(place: number, end: number): string {
    return prefixed(place / this.unit(end));
  }

  private unit(end: number): number {
    return this.name === "step" ? 1 : unitOf(end)[0];
  }
}

function unitOf(end: number): [seconds: number, name: string] {
  if (end > 3 * 3600) return [3600, "hours"];
  return end > 180 ? [60, "minutes"] : [1, "seconds"];
}

function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${significant(seconds)} s`;
}
