// The player of trajectories in three dimensions; see film3d.py for what it reads.
import { unpackFilm, type Raw } from "./film";
import { partOf, wholePage } from "./place";
import { Player, type Place } from "./player";
import { spaceOf } from "./space";

export function page(): void {
  play(...wholePage<Raw>());
}

export function mount(host: HTMLElement, raw: Raw, style: string): void {
  play(raw, partOf(host, style));
}

function play(raw: Raw, place: Place): void {
  const film = unpackFilm(raw);
  new Player(film, place, (changed) => spaceOf(film, changed, place.embedded)).start();
}
