// The page with trajectories in three dimensions; see film3d.py for what it reads.
import { unpackFilm } from "./film";
import { Player } from "./player";
import { spaceOf } from "./space";

const film = unpackFilm(document.getElementById("data")?.textContent ?? "");
new Player(film, (changed) => spaceOf(film, changed)).start();
