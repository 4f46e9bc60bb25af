"""Ids of MiniGrid's tasks: what makes each, and with which options. Importing this module imports no task."""

from __future__ import annotations

from typing import Any

_CROSSINGS = ((9, 1), (9, 2), (9, 3), (11, 5))
_CORRIDORS = ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3))
_OBSTACLES = ((5, 2), (6, 3), (8, 4), (16, 8))

NAMED: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"Empty-{n}x{n}-v0": ("empty:EmptyRoom", {"size": n}) for n in (5, 6, 8, 16)},
    **{f"Empty-Random-{n}x{n}-v0": ("empty:EmptyRoom", {"size": n, "random_start": True}) for n in (5, 6)},
    "FourRooms-v0": ("empty:FourRooms", {}),
    **{f"DoorKey-{n}x{n}-v0": ("door_key:DoorKey", {"size": n}) for n in (5, 6, 8, 16)},
    **{f"LavaGapS{n}-v0": ("lava:LavaGap", {"size": n}) for n in (5, 6, 7)},
    **{f"LavaCrossingS{n}N{k}-v0": ("lava:LavaCrossing", {"size": n, "num_crossings": k}) for n, k in _CROSSINGS},
    **{f"SimpleCrossingS{n}N{k}-v0": ("lava:SimpleCrossing", {"size": n, "num_crossings": k}) for n, k in _CROSSINGS},
    "Unlock-v0": ("unlock:Unlock", {}),
    "UnlockPickup-v0": ("unlock:UnlockPickup", {}),
    **{f"KeyCorridorS{s}R{r}-v0": ("key_corridor:KeyCorridor", {"room_size": s, "num_rows": r}) for s, r in _CORRIDORS},
    "MultiRoom-N2-S4-v0": ("multi_room:MultiRoom", {"num_rooms": 2, "max_room_size": 4}),
    # The package's own slip, kept there and here: v0 has six rooms.
    "MultiRoom-N4-S5-v0": ("multi_room:MultiRoom", {"num_rooms": 6, "max_room_size": 5}),
    "MultiRoom-N4-S5-v1": ("multi_room:MultiRoom", {"num_rooms": 4, "max_room_size": 5}),
    "MultiRoom-N6-v0": ("multi_room:MultiRoom", {"num_rooms": 6}),
    **{
        f"Dynamic-Obstacles-{n}x{n}-v0": ("dynamic_obstacles:DynamicObstacles", {"size": n, "n_obstacles": k})
        for n, k in _OBSTACLES
    },
    **{
        f"Dynamic-Obstacles-Random-{n}x{n}-v0": (
            "dynamic_obstacles:DynamicObstacles",
            {"size": n, "n_obstacles": k, "random_start": True},
        )
        for n, k in _OBSTACLES[:2]
    },
}
"""{id without "MiniGrid-": (module:class, options)}."""
