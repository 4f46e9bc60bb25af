"""MinAtar without the package: recordings of it, the kernel, chance, what is refused, and pictures."""

from __future__ import annotations

import json
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback
from minatar_recorded import PATH, STEPS, play, words_of
from recordings import first_other

import kousoku as ks
from kousoku.collectors.slot import advance, begin
from kousoku.core.errors import ConfigError
from kousoku.envs.minatar import asterix, freeway
from kousoku.envs.minatar.asterix import first_state as asterix_start
from kousoku.envs.minatar.enemies import FISH, SUBMARINE, Enemies, occupied
from kousoku.envs.minatar.enemy_groups import AllEnemies, nobody
from kousoku.envs.minatar.game import DOWN, FIRE, LEFT, RIGHT, STAY, UP, MinAtarState, digits
from kousoku.envs.minatar.picture import cubehelix
from kousoku.envs.minatar.seaquest import first_state as seaquest_start
from kousoku.envs.minatar.space_invaders import Aliens
from kousoku.envs.minatar.space_invaders import first_state as invaders_start

GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
KEY = jax.random.key(0)
RECORDED = json.loads(PATH.read_text(encoding="utf-8"))
NEVER_STICKS = np.array([2**32 - 1, 0], np.uint32)
"""Words of a step in which the last action does not stick."""


@eqx.filter_jit
def respond(env, game, action):
    """The step of a game in which the last action does not stick."""
    return env.respond(jnp.asarray(NEVER_STICKS[: 1 + env.words_to_play]), MinAtarState(game, jnp.int32(0)), action)


def made(game, **options):
    return ks.make(f"MinAtar/{game}-v0", **options)


def assert_replays(game, compiled):
    """Checks that a game is the package's, in all that a recording of it has."""
    wanted, env = RECORDED[game], ks.make(f"MinAtar/{game}-v1")
    actions = np.array([int(a) for a in wanted["actions"]], np.int32)
    words = words_of(env, wanted["seed"], STEPS)
    replay = compiled(lambda words, actions: play(env, words, lambda _, action: action, actions)[1][3])
    timesteps = jax.device_get(jax.jit(replay)(words, actions))
    assert "".join(str(int(r)) for r in timesteps.reward) == wanted["rewards"]
    assert np.flatnonzero(timesteps.terminated).tolist() == wanted["ends"]
    assert first_other(timesteps.obs, wanted["checksums"]) is None


@pytest.mark.reference
@pytest.mark.parametrize("game", GAMES)
def test_a_recording_of_the_package_is_played_again(game):
    assert_replays(game, lambda replay: replay)


@pytest.mark.by_default("Breakout")
@pytest.mark.reference
@pytest.mark.parametrize("game", GAMES)
def test_a_kernel_plays_a_recording_of_the_package_again(game):
    with no_fallback():
        assert_replays(game, ks.kernel)


@pytest.mark.by_default("Breakout")
@pytest.mark.parametrize("game", GAMES)
def test_a_kernel_does_what_xla_does(game):
    env = made(game)

    def walk(key):
        def step(slot, key):
            action_key, env_key = jax.random.split(key)
            slot, taken, _ = advance(env, slot, env.action_space.sample(action_key), env_key)
            return slot, (taken.reward, taken.terminated, taken.next_obs)

        return jax.lax.scan(step, begin(env, key), jax.random.split(key, 60))

    keys = jax.random.split(KEY, 37)
    with no_fallback():
        given = jax.jit(jax.vmap(ks.kernel(walk)))(keys)
    wanted = jax.jit(jax.vmap(walk))(keys)
    for g, w in zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(g, w)


# ---- actions


@pytest.mark.by_default("Freeway-codes2")
@pytest.mark.parametrize(
    ("game", "codes"),
    [
        ("Asterix", (STAY, LEFT, UP, RIGHT, DOWN)),
        ("Breakout", (STAY, LEFT, RIGHT)),
        ("Freeway", (STAY, UP, DOWN)),
        ("Seaquest", (STAY, LEFT, UP, RIGHT, DOWN, FIRE)),
        ("SpaceInvaders", (STAY, LEFT, RIGHT, FIRE)),
    ],
)
def test_v1_has_the_actions_that_do_something_and_v0_all_six(game, codes):
    every, few = made(game, sticky_action_prob=0.0), ks.make(f"MinAtar/{game}-v1", sticky_action_prob=0.0)
    assert every.action_space.n == 6
    assert few.action_space.n == len(codes)
    taken = jax.jit(lambda env, action: env.step(KEY, env.reset(KEY)[0], action)[0].last_action)
    assert [int(taken(few, jnp.int32(a))) for a in range(-1, len(codes) + 1)] == [codes[0], *codes, codes[-1]]
    assert [int(taken(every, jnp.int32(a))) for a in (-3, 0, 5, 9)] == [0, 0, 5, 5]


@pytest.mark.full("covered")
def test_the_last_action_sticks_with_its_probability_over_the_end_of_an_episode_too():
    def taken(probability, key):
        env = made("Breakout", sticky_action_prob=probability)
        state, _ = env.reset(key)
        state = MinAtarState(state.game, jnp.int32(DOWN))
        state, _ = env.restart(key, state)
        return env.step(key, state, jnp.int32(UP))[0].last_action

    count = 20_000
    keys = jax.random.split(KEY, count)
    for probability in (0.0, 0.1, 0.5, 1.0):
        stuck = np.asarray(jax.jit(jax.vmap(taken, (None, 0)))(jnp.float32(probability), keys)) == DOWN
        spread = math.sqrt(probability * (1 - probability) / count)
        assert abs(stuck.mean() - probability) <= 5 * spread
    env = made("Breakout")
    assert int(env.reset(KEY)[0].last_action) == STAY


# ---- chance


@pytest.mark.parametrize("bases", [(2,), (2, 3), (5, 2) * 4, (2, 3, 8, 2, 8)])
def test_digits_of_a_word_are_uniform_and_independent(bases):
    words = jnp.asarray(np.random.default_rng(0).integers(2**32, size=200_000, dtype=np.uint32))
    numbers, rest = jax.device_get(jax.jit(jax.vmap(lambda word: digits(word, *bases)))(words))
    joint = np.zeros(len(words), np.int64)
    for number, base in zip(numbers, bases, strict=True):
        assert int(number.min()) == 0
        assert int(number.max()) == base - 1
        even(np.bincount(number, minlength=base))
        joint = joint * base + np.asarray(number)
    some = math.gcd(math.prod(bases), 48)  # so many combinations of the last ones, and of the first
    even(np.bincount(joint % some, minlength=some))
    even(np.bincount(joint * some // math.prod(bases), minlength=some))
    even(np.bincount(np.asarray(rest) >> np.uint32(28), minlength=16))


def even(counts):
    """Asserts that counts are those of equal probabilities: chi squared is below its mean and six deviations."""
    expected = counts.sum() / len(counts)
    chi = float(((counts - expected) ** 2 / expected).sum())
    assert chi < len(counts) - 1 + 6 * math.sqrt(2 * len(counts)), counts


def draws_of(game, count=100_000):
    env = made(game)
    words = np.random.default_rng(1).integers(2**32, size=(count, env.words_to_play), dtype=np.uint32)
    return jax.device_get(jax.jit(jax.vmap(lambda words: env.draw(words)))(jnp.asarray(words)))


def is_share(found, probability):
    assert abs(found.mean() - probability) < 5 * math.sqrt(probability * (1 - probability) / len(found))


def test_what_asterix_draws_is_what_the_package_draws():
    drawn = draws_of("Asterix")
    is_share(drawn.right, 1 / 2)
    is_share(drawn.gold, 1 / 3)
    is_share(drawn.right & drawn.gold, 1 / 6)
    game = asterix_start()
    taken = jnp.array([0, 2, 0, 0, 1, 0, 2, 0], jnp.int32)
    game = eqx.tree_at(lambda g: (g.kind, g.spawn_timer), game, (taken, jnp.int32(0)))
    env = made("Asterix")
    after = jax.jit(jax.vmap(lambda draws: env.play(game, jnp.int32(STAY), draws)[0].kind))(drawn)
    new = np.asarray(after != 0).sum(axis=0)
    even(new[np.asarray(taken) == 0])
    assert (new[np.asarray(taken) != 0] == len(drawn.right)).all()


def test_what_freeway_draws_is_what_the_package_draws():
    speed = draws_of("Freeway", 50_000)
    assert speed.shape == (50_000, 8)
    for car in range(8):
        even(np.bincount(speed[:, car] + 5, minlength=11)[[*range(5), *range(6, 11)]])
        assert not (speed[:, car] == 0).any()
    assert np.abs(np.corrcoef(speed.T) - np.eye(8)).max() < 0.03


def test_what_seaquest_draws_is_what_the_package_draws():
    drawn = draws_of("Seaquest")
    is_share(drawn.right, 1 / 2)
    is_share(drawn.submarine, 1 / 3)
    is_share(drawn.diver_right, 1 / 2)
    for row in (drawn.y, drawn.diver_y):
        assert set(row.tolist()) == set(range(1, 9))
        even(np.bincount(row)[1:])
    even(np.bincount((drawn.y - 1) * 8 + drawn.diver_y - 1))


def test_breakout_starts_on_either_side():
    right = jax.jit(jax.vmap(lambda key: made("Breakout").reset(key)[0].game))(jax.random.split(KEY, 10_000))
    is_share(np.asarray(right.ball_x == 9), 1 / 2)
    assert np.array_equal(right.dx, np.where(right.ball_x == 9, -1, 1))


# ---- rules that chance seldom brings about


def seaquest(action=STAY, ramping=True, **changes):
    """The game after one step of Seaquest from a changed start, its reward and whether it is over."""
    env, game = made("Seaquest", difficulty_ramping=ramping), seaquest_start()
    for name, value in changes.items():
        new = value if isinstance(value, AllEnemies) else jnp.asarray(value, getattr(game, name).dtype)
        game = eqx.tree_at(lambda g, name=name: getattr(g, name), game, new)
    state, timestep = respond(env, game, jnp.int32(action))
    return state.game, int(timestep.reward), bool(timestep.terminated)


def enemies(*those):
    """Groups of enemies, from (kind, x, y, dx, wait) each."""
    groups = seaquest_start().enemies.groups
    columns = {name: [np.asarray(getattr(group, name)).copy() for group in groups] for name in vars(groups[0])}
    for i, those_of_one in enumerate(those):
        for name, value in zip(("kind", "x", "y", "dx", "wait"), those_of_one, strict=True):
            columns[name][i // 8][i % 8] = value
        columns["reload"][i // 8][i % 8] = 9
    cls = type(groups[0])
    made = (cls(**{name: jnp.asarray(c[i]) for name, c in columns.items()}) for i in range(len(groups)))
    return AllEnemies.of(tuple(made))


def kinds(game):
    return [int(kind) for group in game.enemies.groups for kind in group.kind if kind]


class TestSeaquest:
    @pytest.mark.full("covered")
    def test_six_divers_pay_for_the_air_that_is_left_and_leave_minus_one_as_in_the_package(self):
        game, reward, over = seaquest(UP, y=1, surfaced=False, aboard=6, oxygen=119)
        assert (int(game.aboard), int(game.oxygen), reward, over) == (-1, 200, 5, False)

    @pytest.mark.by_default("1", "5")
    @pytest.mark.parametrize("aboard", [-1, 1, 5])
    def test_surfacing_takes_one_diver_and_gives_air(self, aboard):
        game, reward, over = seaquest(UP, y=1, surfaced=False, aboard=aboard, oxygen=50)
        assert (int(game.aboard), int(game.oxygen), reward, over) == (aboard - 1, 200, 0, False)
        assert (int(game.spawn_speed), int(game.ramp_index), bool(game.surfaced)) == (19, 1, True)

    def test_surfacing_without_divers_is_the_end(self):
        game, reward, over = seaquest(UP, y=1, surfaced=False, aboard=0)
        assert (reward, over, bool(game.surfaced), int(game.oxygen)) == (0, True, False, 200)

    def test_who_stays_at_the_surface_uses_no_air_and_nobody_leaves(self):
        game, _, over = seaquest(STAY, aboard=3, oxygen=70)
        assert (int(game.aboard), int(game.oxygen), over) == (3, 70, False)

    def test_air_runs_out(self):
        assert not seaquest(STAY, y=4, oxygen=1, surfaced=False)[2]
        game, _, over = seaquest(STAY, y=4, oxygen=0, surfaced=False)
        assert over
        assert int(game.oxygen) == -1

    @pytest.mark.full("covered")
    def test_without_ramping_nothing_becomes_harder(self):
        game, _, _ = seaquest(UP, ramping=False, y=1, surfaced=False, aboard=2)
        assert (int(game.spawn_speed), int(game.move_speed), int(game.ramp_index)) == (20, 5, 0)

    @pytest.mark.full("covered")
    def test_a_bullet_strikes_fish_before_submarines_and_of_them_who_moves_first(self):
        those = enemies((SUBMARINE, 4, 3, 1, 1), (FISH, 4, 3, 1, 4), (FISH, 4, 3, 1, 2), (FISH, 4, 5, 1, 1))
        game, reward, _ = seaquest(FIRE, y=3, surfaced=False, enemies=those)
        assert (reward, kinds(game)) == (1, [SUBMARINE, FISH, FISH])
        assert [int(wait) for wait in game.enemies.first.wait[:4]] == [0, 3, 2, 0]

    def test_of_those_who_run_into_a_bullet_it_takes_the_submarine(self):
        those = enemies((FISH, 2, 3, 1, 0), (SUBMARINE, 2, 3, 1, 0), (FISH, 2, 6, 1, 0))
        game, reward, _ = seaquest(FIRE, x=4, y=3, surfaced=False, enemies=those)
        assert (reward, kinds(game)) == (1, [FISH, FISH])
        assert int(game.bullets.x[0]) == -1

    def test_enemies_in_every_group_meet_the_same_bullet_once(self):
        those = enemies(*[(FISH, 4, 3, 1, 5 - i // 8) for i in range(40)])
        game, reward, _ = seaquest(FIRE, y=3, surfaced=False, enemies=those)
        assert reward == len([wait for wait in range(40) if 5 - wait // 8 == 1])
        assert len(kinds(game)) == 40 - reward

    @pytest.mark.parametrize("index", [0, 7, 8, 39])
    def test_any_of_forty_ends_the_game(self, index):
        those = enemies(*[(FISH, 5, 3, 1, 3) if i == index else (FISH, 2, 6, 1, 3) for i in range(40)])
        assert seaquest(STAY, y=3, surfaced=False, enemies=those)[2]
        assert not seaquest(STAY, y=2, surfaced=False, enemies=those)[2]

    @pytest.mark.parametrize("count", [7, 8, 9, 39])
    def test_one_more_appears_behind_those_who_are_there(self, count):
        """In the group that has a place, which is none of the first where that is full; 2 in 3 are fish."""
        those = enemies(*[(FISH, 4, 1 + i % 8, 1, 3) for i in range(count)])
        game, _, _ = seaquest(STAY, y=0, spawn_timer=0, enemies=those)
        more = len(kinds(game)) - count
        assert more in (0, 1), "none where somebody in its row goes the other way"
        right = AllEnemies.of(tuple(eqx.tree_at(lambda e: e.dx, g, -g.dx) for g in those.groups))
        other, _, _ = seaquest(STAY, y=0, spawn_timer=0, enemies=right)
        assert more + len(kinds(other)) - count == 1

    def test_words_hold_all_that_is_asked_of_an_enemy(self):
        rng = np.random.default_rng(0)
        low_high = {"kind": (0, 2), "x": (-1, 10), "y": (1, 8), "wait": (0, 5), "reload": (0, 10), "bullet_x": (-1, 9)}
        drawn = {name: rng.integers(*ends, (5, 8), np.int32, endpoint=True) for name, ends in low_high.items()}
        drawn["dx"] = rng.choice(np.int32([-1, 1]), (5, 8))
        groups = tuple(Enemies(**{name: jnp.asarray(rows[i]) for name, rows in drawn.items()}) for i in range(5))
        for before, after in zip(groups, AllEnemies.of(groups).groups, strict=True):
            there = np.asarray(occupied(before))
            np.testing.assert_array_equal(occupied(after), there)
            for name in low_high | {"dx": None}:
                np.testing.assert_array_equal(getattr(after, name)[there], getattr(before, name)[there], name)
        assert not np.any(nobody().others)
        assert not np.any(AllEnemies.of(nobody().groups).others), "an empty place is 0, so that the others cost nothing"


def invaders(action=STAY, **changes):
    """The game after one step of Space Invaders from a changed start, its reward and whether it is over."""
    env, game = made("SpaceInvaders"), invaders_start()
    for name, value in changes.items():
        new = value if isinstance(value, Aliens) else jnp.asarray(value, jnp.int32)
        game = eqx.tree_at(lambda g, name=name: getattr(g, name), game, new)
    state, timestep = respond(env, game, jnp.int32(action))
    return state.game, int(timestep.reward), bool(timestep.terminated), np.asarray(timestep.obs)


def wave(alive, left, top, direction):
    return Aliens(*(jnp.int32(value) for value in (alive, left, top, direction)))


class TestSpaceInvaders:
    def test_an_alien_that_leaves_the_ground_at_the_edge_ends_the_game_and_is_seen_at_the_top(self):
        _, _, over, obs = invaders(aliens=wave(1, 0, 9, -1), alien_move_timer=0)
        assert over
        assert np.argwhere(obs[:, :, 1]).tolist() == [[0, 0]]
        assert np.argwhere(obs[:, :, 3]).tolist() == [[0, 0]]

    def test_the_edge_is_where_an_alien_is_alive(self):
        last_column = sum(1 << (6 * row + 5) for row in range(4))
        game, _, over, _ = invaders(aliens=wave(last_column, -4, 1, -1), alien_move_timer=0)
        assert (int(game.aliens.left), int(game.aliens.top), int(game.aliens.direction), over) == (-5, 1, -1, False)
        game, _, over, _ = invaders(aliens=wave(last_column, -5, 1, -1), alien_move_timer=0)
        assert (int(game.aliens.left), int(game.aliens.top), int(game.aliens.direction), over) == (-5, 2, 1, False)

    def test_two_bullets_may_hit_in_one_step_and_the_next_wave_is_faster(self):
        game, reward, over, _ = invaders(aliens=wave(0b1000001, 3, 2, 1), bullet_x=[3, 3], bullet_y=[4, 3])
        assert (reward, over, int(game.aliens.alive), int(game.move_interval)) == (2, False, (1 << 24) - 1, 11)
        assert (int(game.aliens.left), int(game.aliens.top), int(game.aliens.direction)) == (2, 0, 1)

    @pytest.mark.parametrize(
        ("alive", "pos", "column"),
        [(0b010011, 5, 4), (0b010011, 6, 7), (0b010011, 0, 3), (0b010011, 9, 7), (0b010001, 5, 3), (0b000101, 4, 3)],
    )
    def test_the_nearest_alien_fires_of_two_the_left_one(self, alive, pos, column):
        game, _, _, _ = invaders(aliens=wave(alive, 3, 2, 1), pos=pos, alien_shot_timer=0)
        assert (int(game.alien_bullet_x), int(game.alien_bullet_y)) == (column, 2)

    def test_a_wave_that_is_as_fast_as_can_be_stays_so(self):
        hit = {"aliens": wave(1, 3, 2, 1), "bullet_x": [3, 3], "bullet_y": [3, 3]}
        assert [int(invaders(**hit, move_interval=n)[0].move_interval) for n in (7, 6)] == [6, 6]

    def test_a_bullet_hits_an_alien_that_comes_in_at_the_top(self):
        _, reward, over, _ = invaders(
            aliens=wave(0b1000000, 0, 8, -1), alien_move_timer=0, bullet_x=[0, 0], bullet_y=[1, 0]
        )
        assert (reward, over) == (1, True)


def in_row(row, value, nothing=0):
    """Eight numbers, one to a row of the map: all the same but for one."""
    return np.where(np.arange(8) == row, value, nothing)


def asterix_after(ramping=True, gold=False, **changes):
    """The game of Asterix after a step without a move of the player, its reward and whether it is over."""
    game = asterix.first_state()
    values = {name: jnp.asarray(value, jnp.int32) for name, value in changes.items()}
    game = type(game)(**(vars(game) | values))
    draws = asterix.AsterixDraws(jnp.array(True), jnp.array(gold), jnp.uint32(0))
    game, reward, over = asterix.play(game, jnp.int32(STAY), draws, ramping)
    return game, int(reward), bool(over)


class TestAsterix:
    @pytest.mark.parametrize(("x", "dx"), [(9, 1), (0, -1)])
    def test_what_crosses_the_edge_is_gone(self, x, dx):
        game, *_ = asterix_after(kind=in_row(2, 1), x=in_row(2, x), dx=in_row(2, dx, 1), move_timer=0)
        assert not np.any(game.kind)

    @pytest.mark.parametrize(("kind", "told"), [(1, (0, True)), (2, (1, False))])
    def test_who_comes_to_the_player_is_met_where_it_moves_to(self, kind, told):
        """The player is in the fifth row of the map, in column 5; who is beside it and stays there is not met."""
        row = {"kind": in_row(4, kind), "x": in_row(4, 4), "dx": in_row(4, 1, 1)}
        game, *found = asterix_after(**row, move_timer=0)
        assert tuple(found) == told
        assert not np.any(game.kind == 2)
        assert asterix_after(**row, move_timer=3)[1:] == (0, False)

    def test_it_becomes_harder_by_turns(self):
        """Each time more appear; every second time all move faster as well, until both are as fast as can be."""
        speeds = {"ramp_timer": -1, "spawn_speed": 5, "move_speed": 3}

        def of(game):
            return tuple(int(x) for x in (game.spawn_speed, game.move_speed, game.ramp_timer, game.ramp_index))

        assert of(asterix_after(**speeds, ramp_index=0)[0]) == (4, 3, 100, 1)
        assert of(asterix_after(**speeds, ramp_index=1)[0]) == (4, 2, 100, 2)
        assert of(asterix_after(**(speeds | {"ramp_timer": 0}), ramp_index=1)[0]) == (5, 3, -1, 1)
        assert of(asterix_after(False, **speeds, ramp_index=1)[0]) == (5, 3, -1, 1)
        assert of(asterix_after(ramp_timer=-1, spawn_speed=1, move_speed=1, ramp_index=9)[0]) == (1, 1, -1, 9)
        assert of(asterix_after(ramp_timer=-1, spawn_speed=5, move_speed=1, ramp_index=1)[0]) == (4, 1, 100, 2)
        assert of(asterix_after(ramp_timer=-1, spawn_speed=1, move_speed=3, ramp_index=1)[0]) == (1, 2, 100, 2)


def freeway_after(action=STAY, **changes):
    """The game of Freeway after a step, its reward and whether it is over; cars stand but for those that are told."""
    game = freeway.first_state(jnp.full(8, 5, jnp.int32))
    values = {name: jnp.asarray(value, jnp.int32) for name, value in changes.items()}
    game, reward, over = freeway.play(type(game)(**(vars(game) | values)), jnp.int32(action), jnp.full(8, -2))
    return game, int(reward), bool(over)


class TestFreeway:
    @pytest.mark.parametrize(
        ("x", "speed", "wait", "hit"),
        [(4, 5, 3, True), (4, 1, 0, True), (3, 1, 0, True), (3, 1, 1, False), (5, 1, 0, False), (5, -1, 0, True)],
    )
    def test_a_car_hits_where_it_was_and_where_it_comes(self, x, speed, wait, hit):
        game, *_ = freeway_after(pos=3, x=in_row(2, x), speed=in_row(2, speed, 5), wait=in_row(2, wait, 5))
        assert int(game.pos) == (9 if hit else 3)

    def test_who_is_across_is_paid_and_meets_other_cars(self):
        game, reward, over = freeway_after(UP, pos=1, move_timer=0)
        assert (int(game.pos), reward, over, int(game.move_timer)) == (9, 1, False, 2)
        assert game.speed.tolist() == [-2] * 8
        assert game.wait.tolist() == [1] * 8
        assert freeway_after(UP, pos=1, move_timer=1)[1] == 0, "only every third step"
        assert [freeway_after(terminate_timer=left)[2] for left in (1, 0)] == [False, True]

    @pytest.mark.parametrize(("x", "speed", "after"), [(9, 1, 0), (0, -1, 9)])
    def test_cars_come_back_from_the_other_side(self, x, speed, after):
        assert int(freeway_after(x=in_row(6, x), speed=in_row(6, speed, 5), wait=in_row(6, 0, 5))[0].x[6]) == after


# ---- input and pictures


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"sticky_action_prob": 1.5}, "sticky_action_prob"),
        ({"sticky_action_prob": -0.1}, "sticky_action_prob"),
        ({"sticky_action_prob": math.nan}, "sticky_action_prob"),
        ({"sticky_action_prob": "often"}, "sticky_action_prob"),
        ({"difficulty_ramping": 1}, "difficulty_ramping"),
        ({"use_minimal_action_set": "yes"}, "use_minimal_action_set"),
        ({"time_limit": 0}, "time_limit"),
        ({"sticky": 0.1}, "option of MinAtar/Breakout-v1"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, field):
    with pytest.raises(ConfigError) as caught:
        ks.make("MinAtar/Breakout-v1", **options)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.by_default("Breakout")
@pytest.mark.parametrize("game", GAMES)
def test_a_scene_shows_the_last_channel_of_each_cell(game):
    env = made(game)
    state, timestep = env.reset(KEY)
    obs = np.asarray(timestep.obs)
    scene = env.scene(jax.device_get(state))
    assert (scene.width, scene.height) == (10.0, 10.0)
    assert len(scene.foreground) == int(obs.any(axis=2).sum())
    colors = cubehelix(obs.shape[2])
    for square in scene.foreground:
        channel = int(np.flatnonzero(obs[int(square.y), int(square.x)])[-1])
        assert square.color == colors[channel]


@pytest.mark.parametrize("channels", [1, 4, 6, 7, 10])
def test_channels_have_different_colours_none_of_which_is_dark(channels):
    colors = cubehelix(channels)
    levels = [np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) @ [0.3, 0.59, 0.11] for color in colors]
    assert len(set(colors)) == channels
    assert min(levels) > 60
    assert levels == sorted(levels)
