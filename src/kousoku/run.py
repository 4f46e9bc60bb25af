"""Training runs and what they can do: pictures, evaluations, films, policies."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np

from . import viz
from .collectors.streams import fold_in_each
from .core.agent import Agent
from .core.arguments import understood
from .core.choice import (
    broken_members,
    first_best,
    mean_returns,
    selection_scores,
    split_episodes,
    tied_for_best,
)
from .core.dataset import Dataset
from .core.env import Env
from .core.errors import ConfigError, check_count, check_flag
from .core.host import HostEnv
from .core.record import RunRecord
from .core.spaces import LARGEST
from .core.synonyms import former_name
from .core.tidy import tidy_columns, write_csv
from .core.words import plural
from .ops.statistics import MeanInterval, Statistic, estimate_interval
from .training.config import MAX_SEED, TrainConfig
from .training.evaluation import recorded
from .training.evaluation.evaluate import FinalState, evaluate_population
from .training.evaluation.film import MOST_FILMS, is_drawable, member_film
from .training.evaluation.policy import Policy
from .training.fine_tuning import TrainedMember
from .training.guards.memory_check import check_episodes, check_transitions
from .training.io import compile_cache
from .training.io.files import Location
from .training.io.rebuild import rebuild_both, rebuild_final_state
from .training.io.tree_io import pick_member
from .training.loop.results import Trained
from .training.make_population import make_population
from .training.point_envs import point_envs
from .training.population import Population
from .viz import headline
from .viz.animation import Animation
from .viz.card import card, run_card
from .viz.estimates import SummaryStatistic, statistic, summary_statistic
from .viz.headline import HeadlineNumber
from .viz.ranking import point_order, point_summary
from .viz.tables import member_name
from .viz.text import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Greedy episodes of every agent of a population.

    Attributes:
        returns: [N, E] undiscounted return of each episode.
        lengths: [N, E] steps of each episode.
        truncated: [N, E] whether a time limit ended it, or the evaluation.
        statistic: what stands for several agents: "mean", or "IQM", the interquartile mean.
        record: of the run whose agents they are, with these episodes in the place of its own: by it seeds and sweep
            points are told. None of episodes from elsewhere, whose agents are taken for those of one sweep point.
        cut: [N, E] whether the evaluation ended it, at `max_steps`, where the environment would have gone on; None
            where that is not known.
    """

    returns: np.ndarray
    lengths: np.ndarray
    truncated: np.ndarray
    statistic: Statistic = "mean"
    record: RunRecord | None = None
    cut: np.ndarray | None = None

    if not TYPE_CHECKING:  # or else checkers take any name for right

        def __getattr__(self, name: str) -> NoReturn:
            """Says what an attribute of a former name is called now."""
            raise former_name(self, name)

    def __repr__(self) -> str:
        which = f" of {self._point}" if self._point else ""
        broke = f"; {self._broke}" if self._broke else ""
        return f"<Evaluation: {self._size}, return{which} {self._summary.words}{broke}>"

    def _repr_html_(self) -> str:
        """Returns a small table of what matters, for notebooks."""
        agents, episodes = self.returns.shape
        note = ", ".join(part for part in (self._point, self._summary.spread, self._broke) if part)
        rows = [HeadlineNumber(f"Return, {self._summary.name}", short(self._summary.value), note)]
        if agents > 1 and episodes > 1:
            tied = int(tied_for_best(selection_scores(self.returns)).sum())
            tie = f", the first of {tied:,} that tie" if tied > 1 else ""
            note = f"agent {self.best_member}{tie}, in episodes that did not choose it"
            rows.append(HeadlineNumber("Best agent", short(float(self.best.mean)), note))
        limit = f"{self.limited.mean():.0%} ended by a time limit"
        if self.cut is not None and self.cut.any():
            limit += f", {self.cut.mean():.0%} cut by the evaluation"
        rows.append(HeadlineNumber("Steps of an episode", short(float(self.lengths.mean())), limit))
        return card(f"Greedy evaluation: {self._size}", rows)

    @property
    def limited(self) -> np.ndarray:
        """[N, E] whether a time limit of the environment ended it."""
        return self.truncated if self.cut is None else self.truncated & ~self.cut

    @property
    def _size(self) -> str:
        """How many agents and episodes."""
        agents, episodes = self.returns.shape
        return f"{plural(agents, 'agent')} x {plural(episodes, 'episode')}"

    @property
    def _broke(self) -> str:
        """How many agents have a return that is not finite; nothing where none has."""
        broken = int(broken_members(self.returns).sum())
        return f"{broken:,} of {plural(len(self.returns), 'agent')} broke" if broken else ""

    @property
    def _point(self) -> str:
        """The point of a sweep whose return is told; else nothing."""
        if self.record is None or len(self.record.points) == 1:
            return ""
        return headline.which_point(self.record, point_order(self.record))

    @property
    def _summary(self) -> SummaryStatistic:
        """All agents' return as it is told; of a sweep, its best point's."""
        if self.record is not None:
            return point_summary(self.record, point_order(self.record)[0])
        if len(self.returns) == 1:
            return summary_statistic(self._of(0), "episode")
        return summary_statistic(mean_returns(self.returns), "agent", self.statistic)

    def _of(self, member: int, episodes: slice = slice(None)) -> np.ndarray:
        """Returns an agent's returns in some episodes; none of one that broke."""
        return self.returns[member, slice(0) if broken_members(self.returns)[member] else episodes]

    @property
    def best_member(self) -> int:
        """The number of the agent with the highest mean return in the first half of the episodes (ties: the first).

        One with a return that is not finite is never chosen, unless all have.
        """
        return first_best(selection_scores(self.returns))

    @property
    def best(self) -> MeanInterval:
        """The best agent's mean return over the second half of its episodes, which did not choose it.

        With a 95% interval over these episodes; over all, if it is the only agent. NaN where each of several agents has
        a single episode: it chose the best one, and none is held out; and where none has finite returns.
        """
        split = split_episodes(*self.returns.shape)
        return estimate_interval(self._of(self.best_member, split.held_out if split.unbiased else slice(0)))

    @property
    def population(self) -> MeanInterval:
        """The mean (or interquartile mean) over all agents' mean returns, with a 95% interval over the agents.

        Fewer than four agents have no interval (NaN); a single one has that over its episodes. An agent with a return
        that is not finite is left out. All points of a sweep are in it; what is told of an evaluation, as text or in
        a notebook, is the best sweep point's own.
        """
        if len(self.returns) == 1:
            return estimate_interval(self._of(0))
        return estimate_interval(mean_returns(self.returns), self.statistic)


class Run:
    """A training run: what was learned, pictures of it, and the folder that it lies in.

    Attributes:
        record: everything as NumPy arrays and plain Python; see `kousoku.core.record.RunRecord`.
    """

    def __init__(
        self,
        record: RunRecord,
        trained: Trained | None,
        state_leaves: list[np.ndarray],
        agent: Agent | None = None,
        env: Env | None = None,
        place: Location | None = None,
    ) -> None:
        self.record = record
        if trained is not None:
            place = trained.place
        elif place is None and record.path is not None:
            place = Location.of(record.path)
        self._place = place
        self._trained = trained
        self._state_leaves = state_leaves
        self._agent, self._env = agent, env

    def __repr__(self) -> str:
        facts, config = self.record.facts, self.record.config
        what = f"{config['agent']['id']} on {config['env']['id']}"
        agents = plural(self.record.num_members, "agent")
        return f"<Run {what}: {agents} x {facts['steps']} steps, {facts['status']}, {self.path or 'not saved'}>"

    def _repr_html_(self) -> str:
        """Returns a small table of what matters, for notebooks."""
        return run_card(self.record)

    @property
    def path(self) -> Path | None:
        """The run folder, by a name that leads to it from the working folder as it is; None if it was not saved."""
        return None if self._place is None else self._place.here

    @property
    def report(self) -> Path | None:
        """The report's file; None if the run was not saved."""
        return None if self.path is None else self.path / viz.REPORT

    @property
    def q_values(self) -> np.ndarray:
        """Every agent's action values, [N, S, A]."""
        if "q" not in self.record.tables:
            raise ConfigError("q_values", self.record.config["agent"]["id"], "this agent has no table of action values")
        return self.record.tables["q"]

    @property
    def curves(self) -> dict[str, np.ndarray]:
        """Learning curves: "step" [R]; "return", "length", "reward" and every metric [R, N], as recorded."""
        return self.record.curves

    def to_frame(self) -> Any:
        """Returns the curves as a tidy pandas DataFrame.

        Its columns are step, seconds, seed, one for each number of a sweep, metric and value: a row for each
        report, agent and metric. A value is NaN where nothing was known.

        Raises:
            ConfigError: if pandas is not installed; it is an extra.
        """
        try:
            import pandas  # pyright: ignore[reportMissingImports]
        except ImportError:
            fix = "pip install 'kousoku[pandas]', or use to_csv, which needs nothing"
            raise ConfigError("to_frame", "no pandas", fix) from None
        return pandas.DataFrame(tidy_columns(self.record))

    def to_csv(self, path: str | Path) -> Path:
        """Writes the curves as comma-separated values, with the columns of `to_frame`; returns the file's path.

        Raises:
            ConfigError: for what is no name of a file, a folder, or a file in a folder that does not exist.
        """
        return write_csv(self.record, path)

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the run early."""
        return self.record.facts["status"] == "interrupted"

    @property
    def stopped_by(self) -> int | None:
        """The number of the signal that stopped the run early, if it ran in this process."""
        return None if self._trained is None else self._trained.stopped_by

    @overload
    def plot_values(self, member: int | None = None, ax: None = None) -> Figure: ...
    @overload
    def plot_values(self, member: int | None = None, *, ax: Axes) -> Axes: ...
    def plot_values(self, member: int | None = None, ax: Axes | None = None) -> Figure | Axes:
        """Draws a heat map of max Q with greedy arrows: of one agent, or of the mean over all.

        Args:
            member: which agent; None for the mean.
            ax: Matplotlib axes to draw in; None for a new figure, which pyplot does not know of and never shows.

        Returns:
            The new figure, which shows itself in a notebook; or the axes, whose figure is the caller's to show.
        """
        figure = viz.plot_values(self.record, member, ax)
        return figure if ax is None else ax

    @overload
    def plot_returns(self, ax: None = None) -> Figure: ...
    @overload
    def plot_returns(self, ax: Axes) -> Axes: ...
    def plot_returns(self, ax: Axes | None = None) -> Figure | Axes:
        """Draws the learning curve over all agents with a 95% interval; in axes and for them as `plot_values`."""
        figure = viz.plot_returns(self.record, ax)
        return figure if ax is None else ax

    @overload
    def plot_lengths(self, ax: None = None) -> Figure: ...
    @overload
    def plot_lengths(self, ax: Axes) -> Axes: ...
    def plot_lengths(self, ax: Axes | None = None) -> Figure | Axes:
        """Draws the steps of the episodes that ended, as `plot_returns` does returns: they tell where all are alike."""
        figure = viz.plot_lengths(self.record, ax)
        return figure if ax is None else ax

    def animate(self, agents: int = 1) -> Animation:
        """Films greedy episodes of the best agents, side by side.

        It shows itself in a notebook; `.save("x.html")` writes a page with a player, and .gif, .mp4, .png and (in the
        plane) .svg work too.

        Raises:
            ConfigError: if the environment cannot be drawn, or there are not so many agents.
        """
        if isinstance(agents, (str, os.PathLike)):
            raise ConfigError("agents", agents, f"say how many to film, and write it with .save({str(agents)!r})")
        agents = check_count("agents", agents, high=min(self.record.num_members, MOST_FILMS))
        if agents == 1 and self.record.film is not None:
            return viz.animate(self.record)
        population, final = self._restore()
        if not is_drawable(population.env(0)):
            return viz.animate(self.record)
        scores, first = self.record.scores, self.record.best_member
        best = sorted(range(len(scores)), key=lambda i: (i != first, -scores[i]))[:agents]
        films = [member_film(population, final, i, member_name(self.record, i)) for i in best]
        return Animation(tuple(film for film in films if film is not None), headline.title(self.record))

    @understood()
    def evaluate(self, episodes: int = 100, *, seed: int = 0, max_steps: int = 1000) -> Evaluation:
        """Plays greedy episodes with every agent; see `kousoku.evaluate`."""
        episodes, max_steps = check_count("episodes", episodes), check_count("max_steps", max_steps, high=LARGEST)
        seed = check_count("seed", seed, low=0, high=MAX_SEED)
        compile_cache.enable()
        population, final = self._restore()
        check_episodes("episodes", population.env(0), population.size, episodes)
        keys = fold_in_each(population.keys, seed)
        played = evaluate_population(population, final, keys, episodes, max_steps)
        arrays = {"return": played.episode_return, "length": played.length, "truncated": played.truncated}
        record = replace(self.record, evaluation=arrays, film=None)
        return Evaluation(*played[:3], statistic(record), record, played.cut)

    def collect(
        self, steps: int = 100_000, *, member: int | None = None, seed: int = 0, greedy: bool = False
    ) -> Dataset:
        """Acts by what one agent has learned, and returns what came of it as a data set.

        Args:
            steps: environment steps in all, of 8 environments.
            member: which agent, by number; by default the best one.
            seed: of all that is random.
            greedy: whether it does not explore.

        Raises:
            ConfigError: for a number that no agent has, an environment on the host, or more steps than memory holds.

        Examples:
            >>> import kousoku as ks
            >>> ks.train("q_learning", "GridWorld-v0", steps=2000, out="").collect(500)
            <Dataset of GridWorld-v0: 500 transitions, ...>
        """
        steps, seed = check_count("steps", steps), check_count("seed", seed, low=0, high=MAX_SEED)
        check_flag("greedy", greedy)
        compile_cache.enable()
        chosen = self.trained_member("member", member)
        env = self._restore()[0].env(chosen.number)
        check_transitions("steps", env, steps)
        return recorded.acted(chosen.agent, chosen.state, env, self.record.config["env"]["id"], steps, seed, greedy)

    def replay(self, member: int | None = None) -> Dataset:
        """Returns what the replay buffer of one agent held at the run's last checkpoint, as a data set.

        Args:
            member: which agent, by number; by default the best one.

        Raises:
            ConfigError: for a number that no agent has, an agent without a replay buffer, or no checkpoint.
        """
        chosen = self.trained_member("member", member)
        env = self._restore()[0].env(chosen.number)
        return recorded.replayed(self.path, chosen.agent, env, self.record.config["env"]["id"], chosen.number)

    def policy(self, member: int | None = None) -> Policy:
        """Returns what one agent does greedily; see `kousoku.load_policy`."""
        chosen, config = self.trained_member("member", member), self.record.config
        title = f"{config['agent']['id']} on {config['env']['id']}, agent {chosen.number}"
        env = self._restore()[0].env(chosen.number)
        starts = env.starts if isinstance(env, HostEnv) else None
        return Policy(chosen.agent, chosen.state, chosen.spec, title, starts)

    def trained_member(self, field: str, number: int | None = None) -> TrainedMember:
        """Returns one agent with what it has learned; by default the best one.

        Args:
            field: what its number is called, for the message.
            number: of the agent.

        Raises:
            ConfigError: for a number that no agent has.
        """
        population, final = self._restore()
        chosen = self.record.best_member if number is None else number
        chosen = check_count(field, chosen, low=0, high=population.size - 1)
        state = pick_member(final.agent_state, chosen)
        return TrainedMember(self.path, chosen, population.agent(chosen), state, population.env(chosen).spec)

    def _restore(self) -> tuple[Population, FinalState]:
        """Returns the agents in their environments, and what they have learned; rebuilt from the folder if need be."""
        if self._trained is not None:
            return self._trained.population, self._trained.final_state
        config = self.record.config
        agent, env = rebuild_both(config, self._agent, self._env)
        members = TrainConfig(steps=1, seeds=config["seeds"], sweep=config["sweep"])
        population = make_population(agent, point_envs(env, config["env"], members), members)
        return population, rebuild_final_state(population, self._state_leaves)
