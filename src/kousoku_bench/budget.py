"""The budget: how much a benchmark measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """The sizes of `kousoku bench kernel`, `balls`, `minatar` and `physics`; their tests use small ones.

    Attributes:
        repeats: of each measurement; the median counts.
        least_seconds: of one measurement: what is faster is called several times in a row.
        agents: numbers of Q-learning agents.
        learn_steps: steps of all agents together in one measurement of Q-learning, at least.
        environments: numbers of environments side by side; the first is used where one number is enough.
        steps: of each environment in one call.
        calls: of a kernel inside a loop.
        operations: of the function whose compile time is measured.
        compile_limit: seconds after which a compiler is stopped.
        balls: numbers of falling balls, multiples of 8.
        fall_steps: of each ball in one call.
        film_balls: in the animation.
        film_frames: of the animation.
        bodies: mechanisms side by side.
        body_steps: of each mechanism in one call.
        robots: of ours side by side.
        robot_steps: of each of ours in one call.
        peer_bodies: of other libraries' side by side.
        peer_steps: of each of them in one call.
        peer_repeats: of their measurements.
        peer_limit: seconds after which one of them is stopped.
        parity_rollouts: rollouts whose states' steps are compared with C MuJoCo's.
    """

    repeats: int = 5
    least_seconds: float = 0.3
    agents: tuple[int, ...] = (1, 30, 4096)
    learn_steps: int = 8_000_000
    environments: tuple[int, ...] = (4096, 65536)
    steps: int = 256
    calls: int = 10_000
    operations: int = 10_000
    compile_limit: float = 40.0
    balls: tuple[int, ...] = (4_000, 8_000, 16_000, 32_000, 64_000)
    fall_steps: int = 1_000
    film_balls: int = 300
    film_frames: int = 100
    bodies: int = 1024
    body_steps: int = 50
    parity_rollouts: int = 500
    robots: int = 2048
    robot_steps: int = 32
    peer_bodies: int = 64
    peer_steps: int = 16
    peer_repeats: int = 3
    peer_limit: float = 240.0
