// What time it is in the film. `at` counts frames and may lie between two.
export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export class Clock {
  at = 0;
  speed = 1;
  playing = false;
  private readonly listeners: (() => void)[] = [];

  constructor(
    readonly last: number,
    readonly dt: number,
  ) {}

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  // Go on by so many seconds of the reader's time; stop at the end.
  advance(seconds: number): void {
    if (!this.playing) return;
    this.at = Math.min(this.last, this.at + (seconds * this.speed) / this.dt);
    if (this.at >= this.last) this.playing = false;
    this.changed();
  }

  toggle(): void {
    this.playing = !this.playing && this.last > 0;
    if (this.playing && this.at >= this.last) this.at = 0;
    this.changed();
  }

  seek(at: number): void {
    this.playing = false;
    this.at = Math.min(this.last, Math.max(0, at));
    this.changed();
  }

  // To the next whole frame in a direction.
  step(direction: 1 | -1): void {
    this.seek(direction > 0 ? Math.floor(this.at + 1e-6) + 1 : Math.ceil(this.at - 1e-6) - 1);
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.changed();
  }

  faster(direction: 1 | -1): void {
    const i = SPEEDS.indexOf(this.speed) + direction;
    this.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, i))]);
  }

  // Tell all who listen.
  changed(): void {
    for (const listener of this.listeners) listener();
  }
}
