"""Games of Pgx: for one player as they are, for several from the seat of one who learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_flag, shorten
from ...core.promotion import their_promotion
from ...core.scene import Scene
from ...core.spaces import Discrete, Space
from ...training.evaluation.policy import Policy
from ...training.io.env_config import InWords
from ...training.io.provenance import DIGITS
from .foreign import Foreign, ForeignEnv, call, check_id, checked_limit, imported, recipe, shapes_of
from .spaces import observed, with_mask

LIBRARY, LOWEST = "pgx", "2.0.0"
AGENT = 0
"""The agent's number among the players; Pgx draws who moves first."""

Opponent = Callable[[Array, Array, Array], Array]
"""(observation, mask of legal actions, raw key) -> action, of the player whose turn it is."""


def random_opponent(obs: Array, mask: Array, key: Array) -> Array:
    """Draws a legal action, each with the same probability."""
    del obs
    return jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))


@dataclass(frozen=True)
class PolicyMoves(InWords):
    """A trained policy as an opponent.

    Attributes:
        policy: without memory.
        masked: whether it sees the mask.
    """

    policy: Policy
    masked: bool

    formerly: ClassVar[str | None] = "_moves_of.<locals>.moves"

    def __call__(self, obs: Array, mask: Array, key: Array) -> Array:
        del key
        return self.policy.apply(with_mask(obs, mask) if self.masked else obs)[0]

    def in_words(self) -> str:
        return f"weights {self.policy.weights[:DIGITS]} of {self.policy.title or 'a policy'}"


class PgxEnv(ForeignEnv):
    """A game of Pgx from the seat of player 0.

    A step is a move of the agent and all moves of the others until it is the agent's turn again, or the game is
    over; where another one moves first, a reset makes that move. The reward is the agent's, of its own move and of
    those after it. What is observed when the game is over is the agent's view, whose turn it may not be.

    The observation is a Dict of "observation" and "action_mask"; of a game in which all is legal always, or without a
    mask, it is the observation itself.

    Attributes:
        theirs, their_spec, time_limit: see `ForeignEnv`.
        opponent: who moves for the other players.
        masked: whether the mask is observed.
        draws_svg: True: Pgx draws as SVG.
    """

    theirs: Foreign = eqx.field(static=True)
    their_spec: EnvSpec
    time_limit: int | None = eqx.field(static=True)
    opponent: Opponent = eqx.field(static=True)
    masked: bool = eqx.field(static=True)
    draws_svg: ClassVar[bool] = True

    def begin(self, key: Array) -> tuple[Any, PyTree[Array]]:
        init_key, others_key = jax.random.split(key)
        state = self.theirs.it.init(init_key)
        if self.theirs.it.num_players > 1:
            state, _ = self._others_move(others_key, state)
        return state, self._seen(state)

    def take(self, key: Array, state: Any, action: Any) -> tuple[Any, PyTree[Array], Array, Any, Any]:
        move_key, others_key = jax.random.split(key)
        after = self.theirs.it.step(state, action, move_key)
        reward = after.rewards[AGENT]
        if self.theirs.it.num_players > 1:
            after, more = self._others_move(others_key, after)
            reward = reward + more
        return after, self._seen(after), reward, after.terminated, after.truncated

    def _others_move(self, key: Array, state: Any) -> tuple[Any, Array]:
        """Moves for the others until it is the agent's turn or the game is over: the state, the agent's reward."""

        def goes_on(now: tuple[Any, Array, Array]) -> Array:
            state = now[0]
            return (state.current_player != AGENT) & ~state.terminated & ~state.truncated

        def move(now: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
            state, reward, key = now
            key, choice_key, move_key = jax.random.split(key, 3)
            action = self.opponent(state.observation, state.legal_action_mask, choice_key)
            state = self.theirs.it.step(state, action, move_key)
            return state, reward + state.rewards[AGENT].astype(jnp.float32), key

        return jax.lax.while_loop(goes_on, move, (state, jnp.float32(0.0), key))[:2]

    def _seen(self, state: Any) -> Any:
        obs = state.observation
        if self.theirs.it.num_players > 1:
            # `Env.observe` of a player has a warning, and `State.observation` is of the player whose turn it is
            obs = self.theirs.it._observe(state, jnp.int32(AGENT))
        return with_mask(obs, state.legal_action_mask) if self.masked else obs

    def scene(self, state: Any) -> Scene:
        """Draws the board as Pgx does."""
        with their_promotion():
            return Scene.of_svg(jax.tree.map(jnp.asarray, state).to_svg())


def from_pgx(
    env: Any, *, opponent: str | Opponent = "random", action_mask: bool | None = None, time_limit: int | None = None
) -> PgxEnv:
    """Makes an environment of a game of Pgx.

    Args:
        env: of `pgx.make`.
        opponent: who moves for the other players: "random"; a policy that was trained, of `kousoku.load_policy`; or a
            function (observation, mask, raw key) -> action in JAX.
        action_mask: whether legal actions are observed; by default where there are illegal ones.
        time_limit: steps of the agent after which an episode is truncated; by default there is no limit.

    Raises:
        ConfigError: for what is no game of Pgx, or an opponent that is neither.
    """
    return _wrapped(env, opponent, action_mask, time_limit, None)


@their_promotion()
def _wrapped(
    env: Any, opponent: Any, action_mask: bool | None, time_limit: int | None, made_from: str | None
) -> PgxEnv:
    if not callable(getattr(env, "init", None)) or not hasattr(env, "num_players"):
        raise ConfigError("env", type(env).__name__, "give a game of Pgx, of `pgx.make`, without auto-reset")
    if not callable(opponent) and (not isinstance(opponent, str) or opponent != "random"):
        fix = "use 'random', a policy of kousoku.load_policy, or a function (observation, mask, key) -> action"
        raise ConfigError("opponent", opponent, fix)
    masked = not str(env.id).startswith("minatar-") if action_mask is None else check_flag("action_mask", action_mask)
    state = shapes_of(env, env.init)
    obs = observed(with_mask(state.observation, state.legal_action_mask) if masked else state.observation)
    limit = checked_limit(time_limit)
    moves: Any = random_opponent if opponent == "random" else opponent
    if isinstance(opponent, Policy):
        _check_moves(opponent, obs)
        moves = PolicyMoves(opponent, masked)
    return PgxEnv(
        theirs=Foreign(env, made_from),
        their_spec=EnvSpec(obs, Discrete(int(state.legal_action_mask.shape[0])), limit),
        time_limit=limit,
        opponent=moves,
        masked=masked,
    )


def _check_moves(policy: Policy, space: Space) -> None:
    """Refuses a policy that cannot move for the others.

    Raises:
        ConfigError: for one that remembers, or that sees something else.
    """
    if policy.recurrent:
        raise ConfigError("opponent", policy, "it remembers what it saw; use one without memory")
    if policy.spec.observation_space != space:
        raise ConfigError("opponent", policy.spec.observation_space, f"this game shows {shorten(space, 160)}")


def ids() -> list[str]:
    """Returns the ids of all games of the installed Pgx."""
    return list(_pgx().available_envs())


@their_promotion()
def make(
    id: str,
    *,
    opponent: str | Opponent = "random",
    action_mask: bool | None = None,
    time_limit: int | None = None,
    **options: Any,
) -> PgxEnv:
    """Makes one of Pgx's games by its id.

    Args:
        id: as of `pgx.make`.
        opponent, action_mask, time_limit: as of `from_pgx`.
        options: none; Pgx's games are made by their id alone.

    Raises:
        ConfigError: for an unknown id or option, or if Pgx is not installed.
    """
    check_id(LIBRARY, id, ids())
    env = call(LIBRARY, id, lambda **options: _pgx().make(id, **options), options)
    return _wrapped(env, opponent, action_mask, time_limit, recipe(LIBRARY, id, options))


def _pgx() -> Any:
    return imported(LIBRARY, "pgx", "pgx", LOWEST)
