"""Environments with the protocols of gymnax, Brax, Jumanji, Pgx, Navix and XLand-MiniGrid, written here by hand.

They are protocols: no library is imported. What the libraries' own environments do is tested beside them, in
`test_jax_envs_peers.py`.
"""

from __future__ import annotations

import dataclasses
import pickle
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.collectors.env_kernel import partition_env
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.interop.jax_envs import foreign, spaces
from kousoku.training.evaluation.policy import Policy
from kousoku.training.io.env_config import check_same, env_json

LIMIT = 5


class Record(eqx.Module):
    """A struct with `replace`, as those of Flax."""

    def replace(self, **changes: Any) -> Any:
        return dataclasses.replace(self, **changes)


class Params(Record):
    step_size: float = 1.0
    max_steps_in_episode: int = LIMIT


class Walk(Record):
    place: Any
    time: Any
    terminal: Any


class GymnaxWalk:
    """A walk from 0 to a goal at 4, with what is loose in gymnax: Python's numbers in a state, `done` of both kinds."""

    default_params = Params()

    def reset_env(self, key: Any, params: Any) -> Any:
        state = Walk(0.0, 0, False)
        return self.obs(state, params), state

    def step_env(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        place = state.place + jnp.where(action == 1, 1, -1) * params.step_size
        time = state.time + 1
        done = (time >= params.max_steps_in_episode) | (place >= 4) | state.terminal
        state = Walk(place, time, done)
        return self.obs(state, params), state, place.astype(jnp.float32), done, {}

    def obs(self, state: Any, params: Any) -> Any:
        return jnp.array([state.place, state.time / params.max_steps_in_episode])

    def observation_space(self, params: Any) -> Any:
        return SimpleNamespace(low=jnp.array([-9.0, 0.0]), high=3.4028235e38, shape=(2,), dtype=jnp.float32)

    def action_space(self, params: Any) -> Any:
        return SimpleNamespace(n=2, shape=(), dtype=jnp.int32)


def walk(env: Any, actions: list[int]) -> list[Any]:
    """Steps from a reset; the timesteps."""
    state, first = env.reset(jax.random.key(0))
    timesteps = [first]
    step = jax.jit(lambda *args: env.step(*args))
    for i, action in enumerate(actions):
        state, timestep = step(jax.random.key(i), state, jnp.int32(action))
        timesteps.append(timestep)
    return timesteps


class TestGymnax:
    @pytest.mark.full("covered")
    def test_keeps_the_contract(self):
        ks.check_env(ks.from_gymnax(GymnaxWalk()), steps=20)

    def test_parameters_of_another_environment_are_refused_by_the_first_that_is_missing(self):
        class Others(Record):
            gravity: float = 9.8
            max_steps_in_episode: int = LIMIT

        for params in (Others(), {"step_size": 1.0}, 3):
            with pytest.raises(ks.ConfigError) as caught:
                ks.from_gymnax(GymnaxWalk(), params)
            assert str(caught.value).startswith("params: got ")
            assert "it has no step_size; give the environment's own, such as its default_params" in str(caught.value)
            assert "\n" not in str(caught.value)
        assert ks.from_gymnax(GymnaxWalk(), Params(step_size=0.5)).params.step_size == 0.5

    def test_spaces(self):
        env = ks.from_gymnax(GymnaxWalk())
        assert env.observation_space == Box((-9.0, 0.0), np.inf, (2,))
        assert (env.action_space, env.time_limit) == (Discrete(2), LIMIT)

    def test_the_clock_does_not_end_the_task(self):
        steps = walk(ks.from_gymnax(GymnaxWalk()), [0] * (LIMIT + 2))
        assert not any(bool(step.terminated | step.truncated) for step in steps)
        assert [float(step.obs[1]) for step in steps[:3]] == pytest.approx([0, 0.2, 0.4]), "it reads its own limit"

    def test_the_goal_ends_it(self):
        steps = walk(ks.from_gymnax(GymnaxWalk()), [1] * 4)
        assert [bool(step.terminated) for step in steps] == [False] * 4 + [True]
        assert float(steps[-1].obs[0]) == 4.0, "the true successor"

    def test_the_goal_ends_it_at_the_limit(self):
        assert bool(walk(ks.from_gymnax(GymnaxWalk(), time_limit=4), [1] * 4)[-1].terminated)

    @pytest.mark.full("covered")
    def test_training_truncates(self):
        slots = _slots(ks.from_gymnax(GymnaxWalk()))
        made = [slots(jnp.int32(0)) for _ in range(LIMIT)]
        assert [bool(t.truncated) for t in made] == [False] * (LIMIT - 1) + [True]
        assert not any(bool(t.terminated) for t in made)
        assert float(made[-1].next_obs[0]) == -LIMIT, "not the observation of a reset"

    def test_a_time_limit_of_ours_is_theirs(self):
        env = ks.from_gymnax(GymnaxWalk(), time_limit=10)
        assert env.time_limit == env.params.max_steps_in_episode == 10

    def test_parameters_are_numbers_of_a_program(self):
        def reward(size: Any) -> Any:
            env = eqx.tree_at(lambda e: e.params.step_size, ks.from_gymnax(GymnaxWalk()), size)
            return walk(env, [1])[-1].reward

        assert jax.vmap(reward)(jnp.array([1.0, 3.0])).tolist() == [1.0, 3.0]

    def test_parameters_without_a_limit(self):
        class Endless(GymnaxWalk):
            default_params = SimpleNamespace(step_size=1.0)

            def step_env(self, key: Any, state: Any, action: Any, params: Any) -> Any:
                return super().step_env(key, state, action, Params(1.0, 10**6))

            def obs(self, state: Any, params: Any) -> Any:
                return jnp.array([state.place, 0.0])

        assert ks.from_gymnax(Endless(), time_limit=None).time_limit is None
        assert ks.from_gymnax(Endless(), time_limit=7).time_limit == 7

    def test_refuses_what_is_no_environment(self):
        with pytest.raises(ks.ConfigError, match=r"env: got 'tuple'; it has no method reset_env.*\(env, params\)"):
            ks.from_gymnax((GymnaxWalk(), Params()))

    def test_refuses_two_rewards(self):
        class Two(GymnaxWalk):
            def step_env(self, *args: Any) -> Any:
                obs, state, _, done, info = super().step_env(*args)
                return obs, state, jnp.zeros(2), done, info

        env = ks.from_gymnax(Two())
        with pytest.raises(ks.ConfigError, match=r"its reward is of shape \[2\]"):
            walk(env, [0])

    def test_refuses_a_state_that_loses_its_fractions(self):
        class Whole(GymnaxWalk):
            def reset_env(self, key: Any, params: Any) -> Any:
                obs, state = super().reset_env(key, params)
                return obs, state.replace(place=0)

        with pytest.raises(ks.ConfigError, match="a reset makes int32 of what a step makes float32"):
            walk(ks.from_gymnax(Whole()), [0])

    @pytest.mark.full("whole way")
    def test_trains(self):
        options = {"num_envs": 4, "num_steps": 16, "minibatches": 2, "epochs": 1}
        run = ks.train("ppo", ks.from_gymnax(GymnaxWalk()), steps=128, eval_episodes=0, out="", **options)
        assert "128 steps, finished" in repr(run)


def _slots(env: Any) -> Any:
    """A function of actions: a slot of training, which goes on with each call; the transition."""
    from kousoku.collectors.slot import advance, begin

    now = begin(env, jax.random.key(0))

    def step(action: Any) -> Any:
        nonlocal now
        now, made, _ = advance(env, now, action, jax.random.key(1))
        return made

    return step


class BraxState(Record):
    obs: Any
    reward: Any
    done: Any
    info: dict[str, Any]


class BraxWalk:
    """A walk whose state notes in place, as some of Brax's do, how often it has moved."""

    action_size = 2

    def reset(self, rng: Any) -> Any:
        return BraxState({"state": jnp.zeros(3)}, jnp.zeros(()), jnp.zeros(()), {"moved": jnp.zeros((), jnp.int32)})

    def step(self, state: Any, action: Any) -> Any:
        state.info["moved"] = state.info["moved"] + 1
        obs = state.obs["state"] + jnp.sum(action)
        return state.replace(obs={"state": obs}, reward=obs[0], done=jnp.where(obs[0] > 2.5, 1.0, 0.0))


class EpisodeWrapper:
    def __init__(self, env: Any, episode_length: int, action_repeat: int = 1) -> None:
        self.env, self.episode_length, self.action_repeat = env, episode_length, action_repeat


class AutoResetWrapper:
    def __init__(self, env: Any) -> None:
        self.env = env


class VmapWrapper(AutoResetWrapper):
    pass


class TestBrax:
    @pytest.mark.full("covered")
    def test_keeps_the_contract(self):
        ks.check_env(ks.from_brax(BraxWalk()), steps=20)

    def test_spaces(self):
        env = ks.from_brax(BraxWalk())
        assert env.observation_space == Dict({"state": Box(-np.inf, np.inf, (3,))})
        assert (env.action_space, env.time_limit) == (Box(-1.0, 1.0, (2,)), 1000)

    def test_steps(self):
        env = ks.from_brax(BraxWalk())
        state, _ = env.reset(jax.random.key(0))
        ended = []
        for _ in range(3):
            before = state
            state, timestep = env.step(jax.random.key(0), state, jnp.array([0.5, 0.5]))
            ended.append(bool(timestep.terminated))
            assert int(state.info["moved"]) == int(before.info["moved"]) + 1
        assert (ended, timestep.obs["state"].tolist()) == ([False, False, True], [3.0] * 3)

    @pytest.mark.parametrize("cut", [0.0, 1.0])
    def test_an_end_that_it_calls_a_truncation_is_one(self, cut):
        class Cut(BraxWalk):
            def reset(self, rng: Any) -> Any:
                first = super().reset(rng)
                return first.replace(info=first.info | {"truncation": jnp.zeros(())})

            def step(self, state: Any, action: Any) -> Any:
                after = super().step(state, action)
                return after.replace(info=after.info | {"truncation": after.done * cut})

        env = ks.from_brax(Cut())
        state, _ = env.reset(jax.random.key(0))
        for steps in range(3):
            state, timestep = env.step(jax.random.key(0), state, jnp.array([0.5, 0.5]))
            ended = steps == 2
            assert (bool(timestep.terminated), bool(timestep.truncated)) == (ended and not cut, ended and bool(cut))

    def test_wrappers_are_taken_off(self):
        env = ks.from_brax(AutoResetWrapper(EpisodeWrapper(BraxWalk(), 7)))
        assert (type(env.theirs.it), env.time_limit) == (BraxWalk, 7)

    @pytest.mark.parametrize("wrapped", [VmapWrapper(BraxWalk()), EpisodeWrapper(BraxWalk(), 7, 2), object()])
    def test_refuses(self, wrapped):
        with pytest.raises(ks.ConfigError, match=r"^env: "):
            ks.from_brax(wrapped)


class Observation(Record):
    grid: Any
    step_count: Any
    action_mask: Any


class JumanjiStep(Record):
    observation: Any
    reward: Any
    discount: Any
    ended: Any

    def last(self) -> Any:
        return self.ended


class JumanjiGrid:
    """Two choices, of 2 and 3, with a mask of their combinations; the first choice made twice ends the task."""

    def __init__(self, time_limit: int = LIMIT, agents: int = 1) -> None:
        self.time_limit, self.agents = time_limit, agents

    action_spec = SimpleNamespace(num_values=np.array([2, 3]), shape=(2,), dtype=jnp.int32)
    observation_spec = SimpleNamespace(
        grid=SimpleNamespace(minimum=0, maximum=1, shape=(2, 3), dtype=bool),
        step_count=SimpleNamespace(minimum=0, maximum=LIMIT, num_values=LIMIT, shape=(), dtype=jnp.int32),
    )

    def seen(self, state: Any) -> Any:
        made, time = state
        return Observation(made, time, ~made)

    def reset(self, key: Any) -> Any:
        state = jnp.zeros((2, 3), bool), jnp.int32(0)
        return state, JumanjiStep(self.seen(state), 0.0, 1.0, jnp.array(False))

    def step(self, state: Any, action: Any) -> Any:
        made, time = state
        again, time = made[action[0], action[1]], time + 1
        ended = again | (time >= self.time_limit)
        state = made.at[action[0], action[1]].set(True), time
        reward = jnp.arange(self.agents, dtype=jnp.float32) + 1
        return state, JumanjiStep(self.seen(state), reward, jnp.where(ended, 0.0, 1.0) * jnp.ones(self.agents), ended)


class TestJumanji:
    @pytest.mark.full("covered")
    def test_keeps_the_contract(self):
        ks.check_env(ks.from_jumanji(JumanjiGrid()), steps=20)

    def test_spaces(self):
        env = ks.from_jumanji(JumanjiGrid())
        mask, grid = Box(0, 1, (6,), np.uint8), Box(0, 1, (2, 3), np.uint8)
        clock = Box(0.0, np.inf)
        assert env.observation_space == Dict({"grid": grid, "step_count": clock, "action_mask": mask})
        assert (env.action_space, env.time_limit) == (Discrete(6), LIMIT)

    def test_a_combination_is_both_choices(self):
        _, after = walk(ks.from_jumanji(JumanjiGrid()), [5])
        assert after.obs["grid"].tolist() == [[0, 0, 0], [0, 0, 1]]
        assert after.obs["action_mask"].tolist() == [1, 1, 1, 1, 1, 0]

    def test_choices_as_they_are(self):
        env = ks.from_jumanji(JumanjiGrid(), flat_actions=False)
        assert env.action_space == MultiDiscrete((2, 3))
        state, _ = env.reset(jax.random.key(0))
        _, after = env.step(jax.random.key(0), state, jnp.array([1, 2]))
        assert after.obs["grid"].tolist() == [[0, 0, 0], [0, 0, 1]]

    def test_a_mask_of_combinations_is_not_taken_for_one_of_each_choice(self):
        assert "action_mask" not in ks.from_jumanji(JumanjiGrid(), flat_actions=False).observation_space.spaces

    def test_choices_count_as_far_as_a_mask_of_each_has_numbers(self):
        class Vehicles(JumanjiGrid):
            action_spec = SimpleNamespace(num_values=np.array([4, 2]), shape=(2,), dtype=jnp.int32)

        for flat_actions in (True, False):
            env = ks.from_jumanji(Vehicles(), flat_actions=flat_actions)
            assert env.action_space == MultiDiscrete((3, 2))
            assert env.observation_space.spaces["action_mask"] == Box(0, 1, (2, 3), np.uint8)

    def test_only_the_task_terminates(self):
        steps = walk(ks.from_jumanji(JumanjiGrid()), [0, 1, 2, 3, 4, 5, 5])
        assert [bool(step.terminated) for step in steps] == [False] * 7 + [True]

    def test_rewards_of_agents_are_added(self):
        assert float(walk(ks.from_jumanji(JumanjiGrid(agents=3)), [0])[-1].reward) == 6.0

    def test_its_own_truncation(self):
        class Cut(JumanjiGrid):
            time_limit = None

            def __init__(self) -> None:
                self.agents = 1

            def step(self, state: Any, action: Any) -> Any:
                self.time_limit = 10**6
                state, timestep = super().step(state, action)
                self.time_limit = None
                return state, timestep.replace(ended=state[1] >= 2, discount=jnp.ones(1))

        steps = walk(ks.from_jumanji(Cut()), [0, 1])
        assert [(bool(s.terminated), bool(s.truncated)) for s in steps] == [(False, False)] * 2 + [(False, True)]


class PgxState(Record):
    current_player: Any
    observation: Any
    rewards: Any
    terminated: Any
    truncated: Any
    legal_action_mask: Any
    left: Any


class Nim:
    """Players take one to three of so many; who takes the last has won. Player 1 begins if the key is odd."""

    id = "nim"
    num_players = 2
    left = 7

    def init(self, key: Any) -> Any:
        first = (key[-1] % 2).astype(jnp.int32)
        return self.state(first, jnp.int32(self.left), jnp.zeros(2), jnp.array(False))

    def state(self, player: Any, left: Any, rewards: Any, over: Any) -> Any:
        legal = (jnp.arange(3) < left) | over
        state = PgxState(player, jnp.zeros(2), rewards, over, jnp.array(False), legal, left)
        return state.replace(observation=self._observe(state, player))

    def _observe(self, state: Any, player: Any) -> Any:
        return jnp.stack([state.left, player]).astype(jnp.float32)

    def step(self, state: Any, action: Any, key: Any) -> Any:
        mine, left = state.current_player, state.left - 1 - action
        won = jnp.where(jnp.arange(2) == mine, 1.0, -1.0)
        lost = ~state.legal_action_mask[action]
        over = lost | (left == 0)
        rewards = jnp.where(over, jnp.where(lost, -won, won), 0.0)
        return self.state(1 - mine, jnp.where(lost, state.left, left), rewards, over)


def takes_all(obs: Any, mask: Any, key: Any) -> Any:
    return jnp.sum(mask) - 1


def takes_one(obs: Any, mask: Any, key: Any) -> Any:
    return jnp.int32(0)


class TestPgx:
    @pytest.mark.full("covered")
    def test_keeps_the_contract(self):
        ks.check_env(ks.from_pgx(Nim()), steps=20)

    def test_spaces(self):
        env = ks.from_pgx(Nim())
        parts = {"observation": Box(-np.inf, np.inf, (2,)), "action_mask": Box(0, 1, (3,), np.uint8)}
        assert (env.observation_space, env.action_space) == (Dict(parts), Discrete(3))
        assert ks.from_pgx(Nim(), action_mask=False).observation_space == parts["observation"]

    @pytest.mark.full("covered")
    def test_the_other_one_moves_between(self):
        env = ks.from_pgx(Nim(), opponent=takes_one)
        lefts = set()
        for seed in range(8):
            state, first = env.reset(jax.random.key(seed))
            left, seat = first.obs["observation"].tolist()
            assert (seat, int(state.current_player)) == (0, 0), "it is the learner's turn, in its own eyes"
            lefts.add(left)
            _, after = env.step(jax.random.key(0), state, jnp.int32(1))
            assert after.obs["observation"].tolist() == [left - 3, 0.0]
        assert lefts == {6.0, 7.0}, "each begins in some games"

    @pytest.mark.full("covered")
    def test_the_reward_of_one_who_did_not_move_last(self):
        env = ks.from_pgx(Nim(), opponent=takes_all)
        state, _ = env.reset(jax.random.key(next(seed for seed in range(9) if _begins(env, seed))))
        state, one = env.step(jax.random.key(0), state, jnp.int32(2))
        assert (float(one.reward), bool(one.terminated), float(one.obs["observation"][0])) == (0.0, False, 1.0)
        state, won = env.step(jax.random.key(0), state, jnp.int32(0))
        assert (float(won.reward), bool(won.terminated)) == (1.0, True)
        state, _ = env.reset(jax.random.key(next(seed for seed in range(9) if _begins(env, seed))))
        state, _ = env.step(jax.random.key(0), state, jnp.int32(0))
        _, lost = env.step(jax.random.key(0), state, jnp.int32(0))
        assert (float(lost.reward), bool(lost.terminated)) == (-1.0, True)
        assert lost.obs["observation"][1] == 0.0, "the learner's view, although the other one moved last"

    def test_an_illegal_move_loses(self):
        env = ks.from_pgx(Nim(), opponent=takes_all)
        state, _ = env.reset(jax.random.key(next(seed for seed in range(9) if _begins(env, seed))))
        state, one = env.step(jax.random.key(0), state, jnp.int32(2))
        assert one.obs["action_mask"].tolist() == [1, 0, 0]
        _, after = env.step(jax.random.key(0), state, jnp.int32(2))
        assert (float(after.reward), bool(after.terminated)) == (-1.0, True)

    def test_a_random_opponent_is_legal(self):
        mask = jnp.array([False, True, True])
        drawn = jax.vmap(lambda k: ks.from_pgx(Nim()).opponent(mask, mask, k))(jax.random.split(jax.random.key(0), 64))
        assert set(drawn.tolist()) == {1, 2}

    def test_a_trained_policy_moves_for_the_others(self):
        env = ks.from_pgx(Nim())
        policy = untrained("ppo", env.spec)
        mask = jnp.array([True, True, False])
        chosen = ks.from_pgx(Nim(), opponent=policy).opponent(jnp.array([2.0, 1.0]), mask, jax.random.key_data(KEY))
        assert int(chosen) == int(policy({"observation": [2.0, 1.0], "action_mask": mask}))
        ks.check_env(ks.from_pgx(Nim(), opponent=policy), steps=8)
        other = untrained("ppo", ks.make("CartPole-v1").spec)
        with pytest.raises(ks.ConfigError, match=r"^opponent: got Box\(.*; this game shows Dict\("):
            ks.from_pgx(Nim(), opponent=other)
        with pytest.raises(ks.ConfigError, match=r"^opponent: .*; it remembers what it saw"):
            ks.from_pgx(Nim(), opponent=untrained("ppo", env.spec, recurrent="gru", recurrent_size=4))

    def test_with_the_same_policy_it_is_the_same_environment_in_another_process_too(self):
        game = Nim()
        policy = untrained("ppo", ks.from_pgx(game).spec)
        env, again = (ks.from_pgx(game, opponent=each) for each in (policy, pickle.loads(pickle.dumps(policy))))
        assert env == again
        assert hash(partition_env(env)[1]) == hash(partition_env(again)[1])
        copied, mask = pickle.loads(pickle.dumps(env)).opponent, jnp.array([True, True, False])
        assert copied == env.opponent
        assert copied(jnp.ones(2), mask, KEY) == env.opponent(jnp.ones(2), mask, KEY)
        for other in others(policy):
            assert ks.from_pgx(game, opponent=other) != env

    def test_a_run_is_gone_on_with_against_the_policy_that_it_was_started_against(self):
        game = Nim()
        policy = untrained("ppo", ks.from_pgx(game).spec)
        env = ks.from_pgx(game, opponent=policy)
        begun = env_json(env, {})
        check_same(ks.from_pgx(game, opponent=pickle.loads(pickle.dumps(policy))), begun)
        told = r"^env's opponent: got {}; the run was started with {}$"
        weights = r"'weights \w{12} of ppo on nim'"
        for other in (*others(policy)[:2], takes_one, "random"):
            with pytest.raises(ks.ConfigError, match=told.format("'.*'", weights)):
                check_same(ks.from_pgx(game, opponent=other), begun)
        with pytest.raises(ks.ConfigError, match=told.format(weights, "'takes_one'")):
            check_same(env, env_json(ks.from_pgx(game, opponent=takes_one), {}))

    def test_a_run_of_before_did_not_tell_its_policy_and_is_gone_on_with_against_any(self):
        game = Nim()
        env = ks.from_pgx(game, opponent=untrained("ppo", ks.from_pgx(game).spec))
        begun = env_json(env, {})
        begun["fields"]["opponent"] = "_moves_of.<locals>.moves"
        check_same(env, begun)
        for other in (takes_one, "random"):
            with pytest.raises(ks.ConfigError, match=r"^env's opponent: got "):
                check_same(ks.from_pgx(game, opponent=other), begun)

    def test_runs_record_its_spaces_by_the_name_that_they_had_in_earlier_versions(self):
        """So runs of earlier versions are gone on with."""
        env = ks.from_pgx(Nim())
        begun = env_json(env, {})
        assert set(begun["fields"]) == {"theirs", "told", "time_limit", "opponent", "masked"}
        check_same(env, begun)

    def test_refuses(self):
        with pytest.raises(ks.ConfigError, match=r"^opponent: got 'best'"):
            ks.from_pgx(Nim(), opponent="best")
        with pytest.raises(ks.ConfigError, match=r"^env: got 'object'"):
            ks.from_pgx(object())


KEY = jax.random.key(3)


def untrained(agent: str, spec: Any, seed: int = 3, title: str = "ppo on nim", **options: Any) -> Policy:
    made = ks.make_agent(agent, hidden=(8,), **options)
    return Policy(made, made.init(spec, jax.random.key(seed)), spec, title)


def others(policy: Policy) -> list[Policy]:
    """Policies that differ from one in their weights, their title, or what is made of the weights alone."""
    different: list[dict[str, Any]] = [{"seed": 4}, {"title": "a2c on nim"}, {"activation": "relu"}]
    return [untrained("ppo", policy.spec, **each) for each in different]


def _begins(env: Any, seed: int) -> bool:
    return float(env.reset(jax.random.key(seed))[1].obs["observation"][0]) == 7.0


class GridStep(Record):
    observation: Any
    reward: Any
    step_type: Any
    discount: Any
    time: Any
    state: Any

    def last(self) -> Any:
        return self.step_type == 2


class GridState(Record):
    cache: Any


class GridParams(Record):
    max_steps: int = eqx.field(static=True)


class NavixLine:
    """Three steps to the right end the task; its step begins anew after an end."""

    max_steps = LIMIT
    observation_space = action_space = SimpleNamespace(n=2, shape=(), dtype=jnp.int32)

    def observation_fn(self) -> None: ...

    def reset(self, key: Any, cache: Any = None) -> Any:
        state = GridState(jnp.zeros(3) if cache is None else cache)
        obs = jnp.zeros((1, 1, 3), jnp.uint8)
        return GridStep(obs, jnp.zeros(()), jnp.int32(0), jnp.ones(()), jnp.int32(0), state)

    def step(self, timestep: Any, action: Any) -> Any:
        obs, time = timestep.observation + action.astype(jnp.uint8), timestep.time + 1
        kind = jnp.clip((time >= LIMIT) + 2 * (obs[0, 0, 0] == 3), 0, 2)
        on = GridStep(obs, obs[0, 0, 0] * 1.0, kind, jnp.where(kind == 2, 0.0, 1.0), time, timestep.state)
        return jax.tree.map(lambda a, b: jnp.where(timestep.step_type > 0, a, b), self.reset(None), on)


class XGridLine(NavixLine):
    """The same with XLand-MiniGrid's order of arguments, and without auto-reset."""

    def default_params(self) -> Any:
        return GridParams(LIMIT)

    def num_actions(self, params: Any) -> int:
        return 2

    def reset(self, params: Any, key: Any) -> Any:
        return super().reset(key)

    def step(self, params: Any, timestep: Any, action: Any) -> Any:
        on = NavixLine().step(timestep.replace(step_type=jnp.int32(0)), action)
        return on.replace(step_type=jnp.where(on.step_type > 0, 2, 1))


@pytest.mark.parametrize(
    "env", [ks.from_navix(NavixLine()), ks.from_xminigrid(XGridLine())], ids=["navix", "xminigrid"]
)
class TestGrids:
    @pytest.mark.by_default("navix")
    def test_keeps_the_contract(self, env):
        ks.check_env(env, steps=20)

    def test_spaces(self, env):
        largest = {"NavixEnv": 254, "XMiniGridEnv": 31}[type(env).__name__]
        assert env.observation_space == Box(0, largest, (1, 1, 3), np.uint8)
        assert (env.action_space, env.time_limit) == (Discrete(2), LIMIT)

    @pytest.mark.by_default("xminigrid")
    def test_the_clock_does_not_end_the_task(self, env):
        steps = walk(env, [1] + [0] * LIMIT + [1])
        assert not any(bool(step.terminated | step.truncated) for step in steps)
        assert int(steps[-1].obs[0, 0, 0]) == 2, "nothing began anew"

    def test_the_goal_ends_it(self, env):
        assert [bool(step.terminated) for step in walk(env, [1, 1, 1])] == [False, False, False, True]


class TestSpaces:
    @pytest.mark.parametrize(
        ("leaf", "space", "ours"),
        [
            (jnp.zeros(3, jnp.float16), None, Box(-np.inf, np.inf, (3,))),
            (jnp.zeros(3, bool), None, Box(0, 1, (3,), np.uint8)),
            (jnp.zeros(3, jnp.int8), None, Box(-128, 127, (3,), np.int8)),
            (jnp.int32(0), SimpleNamespace(n=9), Discrete(9)),
            (jnp.int32(0), SimpleNamespace(n=900), Box(0, 900)),
            ((jnp.zeros(1), jnp.int32(1)), None, None),
        ],
    )
    def test_observed(self, leaf, space, ours):
        if ours is None:
            whole = Box(-(2**31), 2**31 - 2, (), np.int32)
            ours = Dict({"0": Box(-np.inf, np.inf, (1,)), "1": whole})
        assert spaces.observed(leaf, space) == ours
        assert ours.contains(jax.device_get(spaces.conformed(ours, leaf)))

    def test_bounds_of_another_shape_are_the_widest(self):
        leaf, theirs = jnp.zeros((3, 2)), SimpleNamespace(low=np.array([-1.0, 0.0]), high=np.array([1.0, 2.0]))
        assert spaces.observed(leaf, theirs) == Box(-1.0, 2.0, (3, 2))

    def test_acted(self):
        whole = SimpleNamespace(minimum=0, maximum=np.array(4), shape=(2,), dtype=np.dtype(np.int16))
        assert spaces.acted(whole) == MultiDiscrete((5, 5))
        with pytest.raises(ks.ConfigError, match=r"^action space: got 'object'"):
            spaces.acted(object())


class TestForeign:
    def test_equal_by_what_they_were_made_from(self):
        one, other = foreign.Foreign(object(), "a:b()"), foreign.Foreign(object(), "a:b()")
        assert (one == other, hash(one) == hash(other)) == (True, True)
        assert foreign.Foreign(object()) != foreign.Foreign(object())

    def test_a_missing_library(self):
        with pytest.raises(ks.ConfigError, match=r"it needs no-such-thing.*pip install 'kousoku\[gymnax\]'"):
            foreign.imported("gymnax", "gymnax", "no-such-thing", "1.0")

    def test_an_old_library(self):
        with pytest.raises(ks.ConfigError, match=r"jax .* is too old, 99\.0 works"):
            foreign.imported("gymnax", "jax", "jax", "99.0")

    def test_a_broken_library(self):
        with pytest.raises(ks.ConfigError, match=r"jax .* cannot be imported \(No module named 'jax.not_there'\)"):
            foreign.imported("gymnax", "jax.not_there", "jax", "0.1")

    def test_an_unknown_id(self):
        with pytest.raises(ks.ConfigError, match="did you mean pgx:chess"):
            foreign.check_id("pgx", "ches", ["chess", "go"])
