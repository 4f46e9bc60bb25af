"""Taxi: fetch a passenger and bring them where they want to go."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from ...core.env import Env
from ...core.errors import ConfigError, check_flag, check_number
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.scene import Scene
from ...core.spaces import Discrete
from ...core.timestep import Timestep
from ...ops import tables
from ..finite import FiniteEnv, finite
from .taxi_map import IN_TAXI, MOVES, PLACES, decode, drive, taxi_panels, taxi_scene

PICKUP, DROPOFF = 4, 5
NUM_ACTIONS = 6
STEP_REWARD, DELIVERY_REWARD, ILLEGAL_REWARD = -1.0, 20.0, -10.0

Outcome = tuple[float, int, float, bool]


class TaxiInfo(eqx.Module):
    """Mask of the actions that would change the state that was just reached."""

    action_mask: Bool[Array, " 6"]


class Taxi(Env):
    """Gymnasium's Taxi-v4, entry by entry. Make one with `taxi(...)` or by id.

    Observation: ((row * 5 + column) * 5 + passenger) * 4 + destination, Discrete(500); the passenger is at R, G, Y or B
    (0 to 3) or in the taxi (4). Action: Discrete(6): south, north, east, west, pick up, drop off. A step costs 1, an
    illegal pick-up or drop-off 10; delivering the passenger gives 20 and terminates the episode. An episode begins in
    one of the 300 states whose passenger waits anywhere but at the destination.

    Attributes:
        table: the outcomes of every state and action.
        action_mask: whether an action would change a state.

    References:
        Dietterich, Hierarchical reinforcement learning with the MAXQ value function decomposition, Journal of
        Artificial Intelligence Research 13 (2000), section 3.1 (the map) and 7.1 (the rain).
    """

    table: FiniteEnv
    action_mask: Bool[Array | np.ndarray, "500 6"]
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Discrete:
        return self.table.observation_space

    @property
    def action_space(self) -> Discrete:
        return self.table.action_space

    def reset(self, key: PRNGKeyArray) -> tuple[Int[Array, ""], Timestep]:
        """Draws one of the 300 first states, each with the same probability."""
        state, timestep = self.table.reset(key)
        return state, self._informed(timestep)

    def step(self, key: PRNGKeyArray, state: Int[Array, ""], action: Int[Array, ""]) -> tuple[Int[Array, ""], Timestep]:
        """Drives, picks up or drops off."""
        next_state, timestep = self.table.step(key, state, action)
        return next_state, self._informed(timestep)

    def model(self) -> TabularModel:
        """Returns the exact tables that this environment steps from."""
        return self.table.model()

    def panels(self) -> tuple[Panel, ...]:
        """Draws the map, once for each place of the passenger and each destination."""
        return self.table.panels()

    def scene(self, state: Int[Array, ""] | np.ndarray) -> Scene:
        """Draws the map with the taxi, the passenger and the destination."""
        return taxi_scene(int(state))

    def _informed(self, timestep: Timestep) -> Timestep:
        return dataclasses.replace(timestep, info=TaxiInfo(tables.row(jnp.asarray(self.action_mask), timestep.obs)))


def taxi(
    is_rainy: bool = False,
    fickle_passenger: bool = False,
    rainy_probability: float = 0.8,
    time_limit: int | None = None,
) -> Taxi:
    """Makes a Taxi.

    Args:
        is_rainy: whether a move that is not blocked may go to one of its two sides.
        fickle_passenger: only False. Gymnasium's fickle passenger decides by a hidden coin that is no part of the
            observation, so that no exact table over the 500 states exists.
        rainy_probability: probability that a move in the rain goes where it is meant to; the sides share the rest.
        time_limit: steps until an episode is truncated.

    Raises:
        ConfigError: for a bad value.

    Examples:
        >>> env = taxi()
        >>> float(env.model().reward[0, PICKUP, 0])  # at R with the passenger, who wants to R
        -1.0
    """
    check_flag("is_rainy", is_rainy)
    if check_flag("fickle_passenger", fickle_passenger):
        fix = "use False: whether the passenger will change the destination is hidden, so there is no exact table"
        raise ConfigError("fickle_passenger", fickle_passenger, fix)
    check_number("rainy_probability", rainy_probability, low=0, high=1)
    model = _model(float(rainy_probability) if is_rainy else None)
    table = finite(model, taxi_panels(), time_limit)
    changes = np.asarray(model.next_state)[..., 0] != np.arange(500)[:, None]
    return Taxi(table=table, action_mask=changes, time_limit=table.time_limit)


def _model(straight: float | None) -> TabularModel:
    """Builds the exact model; `straight` is the probability of going where one is meant to, None without rain."""
    shape = (500, NUM_ACTIONS, 1 if straight is None else 3)
    probability, reward = np.zeros(shape), np.zeros(shape)
    next_state, terminated = np.zeros(shape, np.int32), np.zeros(shape, bool)
    for state in range(500):
        for action in range(NUM_ACTIONS):
            for k, outcome in enumerate(_outcomes(state, action, straight)):
                probability[state, action, k], next_state[state, action, k] = outcome[:2]
                reward[state, action, k], terminated[state, action, k] = outcome[2:]
    _, _, passenger, destination = decode(np.arange(500))
    start = ((passenger != IN_TAXI) & (passenger != destination)).astype(float)
    return TabularModel(probability, next_state, reward, terminated, start / start.sum())


def _outcomes(state: int, action: int, straight: float | None) -> list[Outcome]:
    """Returns (probability, next_state, reward, terminated), in Gymnasium's order: as meant, left, right."""
    if action == PICKUP:
        return [_pick_up(state)]
    if action == DROPOFF:
        return [_drop_off(state)]
    ahead = drive(state, MOVES[action])
    if straight is None:
        return [(1.0, ahead, STEP_REWARD, False)]
    d_row, d_column = MOVES[action]
    left, right = (-d_column, d_row), (d_column, -d_row)
    side = (1.0 - straight) / 2.0
    # A taxi that cannot go ahead does not drift either.
    ends = [ahead] * 3 if ahead == state else [ahead, drive(state, left), drive(state, right)]
    return [(p, end, STEP_REWARD, False) for p, end in zip((straight, side, side), ends, strict=True)]


def _pick_up(state: int) -> Outcome:
    row, column, passenger, _ = decode(state)
    if passenger != IN_TAXI and PLACES[passenger] == (row, column):
        return 1.0, state + (IN_TAXI - passenger) * len(PLACES), STEP_REWARD, False
    return 1.0, state, ILLEGAL_REWARD, False


def _drop_off(state: int) -> Outcome:
    """Ends the episode by a delivery; at another of the four places the passenger gets out and waits there."""
    row, column, passenger, destination = decode(state)
    if passenger != IN_TAXI or (row, column) not in PLACES:
        return 1.0, state, ILLEGAL_REWARD, False
    place = PLACES.index((row, column))
    delivered = place == destination
    outside = state + (place - IN_TAXI) * len(PLACES)
    return 1.0, outside, DELIVERY_REWARD if delivered else STEP_REWARD, delivered
