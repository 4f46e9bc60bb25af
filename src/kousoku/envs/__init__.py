"""Environments by id. Importing this module imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.registry import Factory, Registry
from .gridworld.named import NAMED, SUMMARIES
from .ids import EnvId
from .minigrid.named import NAMED as MINIGRID

if TYPE_CHECKING:
    from ..core.env import Env
else:
    Env = Any  # to import it would import JAX, which a list of names does not need

ENVS = Registry("environment", beside="kousoku.agents:AGENTS", how="kousoku.make")

_GRIDWORLD = "kousoku.envs.gridworld.env:gridworld"
_TOY = "kousoku.envs.toy_text"
_CLASSIC = "kousoku.envs.classic"
_ROBOT = "kousoku.envs.locomotion"
_BSUITE = "kousoku.envs.bsuite"
_MINATAR = "kousoku.envs.minatar"
_DM_CONTROL = "kousoku.envs.dm_control"

for _id, _options in NAMED.items():
    ENVS.register(_id, _GRIDWORLD, **_options)
ENVS.register("CustomGrid-v0", _GRIDWORLD)
for _id, _summary in SUMMARIES.items():
    ENVS.summarise(_id, _summary)
ENVS.register("Maze-v0", "kousoku.envs.gridworld.maze:random_maze")
ENVS.register("FrozenLake-v1", f"{_TOY}.frozen_lake:frozen_lake", map_name="4x4", time_limit=100)
ENVS.register("FrozenLake8x8-v1", f"{_TOY}.frozen_lake:frozen_lake", map_name="8x8", time_limit=200)
ENVS.register("CliffWalking-v1", f"{_TOY}.cliff_walking:cliff_walking")
ENVS.register("CliffWalkingSlippery-v1", f"{_TOY}.cliff_walking:cliff_walking", is_slippery=True)
ENVS.register("Taxi-v4", f"{_TOY}.taxi:taxi", time_limit=200)
ENVS.register("Blackjack-v1", f"{_TOY}.blackjack:blackjack", sab=True)
ENVS.register("CartPole-v0", f"{_CLASSIC}.cartpole:CartPole", time_limit=200)
ENVS.register("CartPole-v1", f"{_CLASSIC}.cartpole:CartPole")
ENVS.register("MountainCar-v0", f"{_CLASSIC}.mountain_car:MountainCar")
ENVS.register("MountainCarContinuous-v0", f"{_CLASSIC}.mountain_car_continuous:MountainCarContinuous")
ENVS.register("Pendulum-v1", f"{_CLASSIC}.pendulum:Pendulum")
ENVS.register("Acrobot-v1", f"{_CLASSIC}.acrobot:Acrobot")
ENVS.register("Balls-v0", "kousoku.envs.balls.env:Balls")
ENVS.register("Ant-v5", f"{_ROBOT}.ant:Ant")
ENVS.register("HalfCheetah-v5", f"{_ROBOT}.half_cheetah:HalfCheetah")
ENVS.register("Hopper-v5", f"{_ROBOT}.hopper:Hopper")
ENVS.register("Humanoid-v5", f"{_ROBOT}.humanoid:Humanoid")
ENVS.register("HumanoidStandup-v5", f"{_ROBOT}.humanoid_standup:HumanoidStandup")
ENVS.register("InvertedDoublePendulum-v5", f"{_ROBOT}.inverted_double_pendulum:InvertedDoublePendulum")
ENVS.register("InvertedPendulum-v5", f"{_ROBOT}.inverted_pendulum:InvertedPendulum")
ENVS.register("Pusher-v5", f"{_ROBOT}.pusher:Pusher")
ENVS.register("Reacher-v5", f"{_ROBOT}.reacher:Reacher")
ENVS.register("Swimmer-v5", f"{_ROBOT}.swimmer:Swimmer")
ENVS.register("Walker2d-v5", f"{_ROBOT}.walker2d:Walker2d")
ENVS.register("CartPoleSwingUp-v0", f"{_ROBOT}.cartpole_swing_up:CartPoleSwingUp")
ENVS.register("RandomAnt-v0", f"{_ROBOT}.random_ant:random_ant")
ENVS.register("Bandit-v0", "kousoku.envs.bandits.bandit:bandit")
ENVS.register("DriftingBandit-v0", "kousoku.envs.bandits.bandit:bandit", drift=0.01, mean_spread=0.0)
ENVS.register("bsuite/bandit-v0", f"{_BSUITE}.simple_bandit:SimpleBandit")
ENVS.register("bsuite/cartpole-v0", f"{_BSUITE}.cartpole:BsuiteCartPole")
ENVS.register("bsuite/cartpole_swingup-v0", f"{_BSUITE}.cartpole:BsuiteCartPoleSwingUp")
ENVS.register("bsuite/catch-v0", f"{_BSUITE}.catch:Catch")
ENVS.register("bsuite/deep_sea-v0", f"{_BSUITE}.deep_sea:DeepSea")
ENVS.register("bsuite/deep_sea_stochastic-v0", f"{_BSUITE}.deep_sea:DeepSea", deterministic=False)
ENVS.register("bsuite/discounting_chain-v0", f"{_BSUITE}.discounting_chain:DiscountingChain")
ENVS.register("bsuite/memory_len-v0", f"{_BSUITE}.memory_chain:MemoryChain")
ENVS.register("bsuite/memory_size-v0", f"{_BSUITE}.memory_chain:MemoryChain", memory_length=2)
ENVS.register("bsuite/mountain_car-v0", f"{_BSUITE}.mountain_car:BsuiteMountainCar")
ENVS.register("bsuite/umbrella_distract-v0", f"{_BSUITE}.umbrella_chain:UmbrellaChain", chain_length=20)
ENVS.register("bsuite/umbrella_length-v0", f"{_BSUITE}.umbrella_chain:UmbrellaChain", n_distractor=20)
for _module, _game in (
    ("asterix", "Asterix"),
    ("breakout", "Breakout"),
    ("freeway", "Freeway"),
    ("seaquest", "Seaquest"),
    ("space_invaders", "SpaceInvaders"),
):
    ENVS.register(f"MinAtar/{_game}-v0", f"{_MINATAR}.{_module}:{_game}")
    ENVS.register(f"MinAtar/{_game}-v1", f"{_MINATAR}.{_module}:{_game}", use_minimal_action_set=True)
_TURN = {"spinning": False}
for _domain, _class, _tasks in (
    ("acrobot", "SuiteAcrobot", {"swingup": {}, "swingup_sparse": {"sparse": True}}),
    ("ball_in_cup", "SuiteBallInCup", {"catch": {}}),
    (
        "cartpole",
        "SuiteCartpole",
        {
            "balance": {"swing_up": False},
            "balance_sparse": {"swing_up": False, "sparse": True},
            "swingup": {},
            "swingup_sparse": {"sparse": True},
            "two_poles": {"num_poles": 2},
            "three_poles": {"num_poles": 3},
        },
    ),
    ("cheetah", "SuiteCheetah", {"run": {}}),
    ("finger", "SuiteFinger", {"spin": {}, "turn_easy": _TURN, "turn_hard": _TURN | {"target_radius": 0.03}}),
    ("fish", "SuiteFish", {"upright": {"swimming": False}, "swim": {}}),
    ("hopper", "SuiteHopper", {"stand": {"hopping": False}, "hop": {}}),
    (
        "humanoid",
        "SuiteHumanoid",
        {
            "stand": {"move_speed": 0.0},
            "walk": {},
            "run": {"move_speed": 10.0},
            "run_pure_state": {"move_speed": 10.0, "pure_state": True},
        },
    ),
    (
        "humanoid_CMU",
        "SuiteHumanoidCMU",
        {"stand": {"move_speed": 0.0}, "walk": {}, "run": {"move_speed": 10.0}},
    ),
    ("lqr", "SuiteLqr", {"lqr_2_1": {}, "lqr_6_2": {"num_bodies": 6, "num_actuators": 2}}),
    (
        "manipulator",
        "SuiteManipulator",
        {
            "bring_ball": {},
            "bring_peg": {"use_peg": True},
            "insert_ball": {"insert": True},
            "insert_peg": {"use_peg": True, "insert": True},
        },
    ),
    ("pendulum", "SuitePendulum", {"swingup": {}}),
    ("point_mass", "SuitePointMass", {"easy": {}, "hard": {"randomize_gains": True}}),
    ("quadruped", "SuiteQuadruped", {"walk": {}, "run": {"move_speed": 5.0}, "fetch": {"fetching": True}}),
    ("reacher", "SuiteReacher", {"easy": {}, "hard": {"target_size": 0.015}}),
    ("stacker", "SuiteStacker", {"stack_2": {}, "stack_4": {"num_boxes": 4}}),
    ("swimmer", "SuiteSwimmer", {"swimmer6": {}, "swimmer15": {"num_links": 15}}),
    ("walker", "SuiteWalker", {"stand": {"move_speed": 0.0}, "walk": {}, "run": {"move_speed": 8.0}}),
):
    for _task, _options in _tasks.items():
        ENVS.register(f"dm_control/{_domain}-{_task}-v0", f"{_DM_CONTROL}.{_domain.lower()}:{_class}", **_options)
ENVS.require("dm_control", "dm_control")
for _id, (_task, _options) in MINIGRID.items():
    ENVS.register(f"MiniGrid-{_id}", f"kousoku.envs.minigrid.{_task}", **_options)

ENVS.register_library("gymnasium", "kousoku.interop.host.from_gymnasium:gymnasium_env")
ENVS.register_library("envpool", "kousoku.interop.host.from_envpool:envpool_env")
for _library in ("brax", "craftax", "gymnax", "jumanji", "navix", "pgx", "playground", "xminigrid"):
    ENVS.register_library(_library, f"kousoku.interop.jax_envs.{_library}:make")


def make(id: EnvId | str, *, wrap: Any = (), **options: Any) -> Env:
    """Makes an environment by id.

    Args:
        id: of the environment.
        wrap: wrappers to put around it, by name with their values, one text or several: "frame_stack:4"; see
            `kousoku.wrappers.wrapped`.
        options: of the environment.

    Raises:
        ConfigError: for an unknown id (with the nearest names), an unknown option or wrapper, or a bad value.
    """
    env = ENVS.make(id, **options)
    if not wrap:
        return env
    from .wrappers import wrapped  # which imports JAX

    return wrapped(env, wrap)


def register(id: str, factory: Factory, **defaults: Any) -> None:
    """Gives an environment of one's own an id, so that `kousoku.make` and `kousoku.train` know it."""
    ENVS.register(id, factory, **defaults)


def list_envs() -> list[str]:
    """Returns the ids of all environments, sorted."""
    return ENVS.ids()
