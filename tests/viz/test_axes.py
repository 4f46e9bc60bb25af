"""Plots of a run in a figure of their own, which pyplot does not know of, or in axes of the caller's."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import records
from fresh_process import check_refusals
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import kousoku as ks
from kousoku.viz.values import plot_values

PLOTS = ("plot_values", "plot_returns", "plot_lengths")


@pytest.fixture(scope="module")
def run():
    return ks.train("q_learning", "GridWorld-v0", steps=300, seeds=2, out="", eval_episodes=1)


@pytest.fixture(autouse=True)
def _no_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.by_default("plot_lengths")
@pytest.mark.parametrize("plot", PLOTS)
def test_a_new_figure_is_returned_and_pyplot_keeps_none(run, plot):
    for _ in range(3):
        figure = getattr(run, plot)()
        assert isinstance(figure, Figure)
    assert plt.get_fignums() == []
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.by_default("plot_lengths")
@pytest.mark.parametrize("plot", PLOTS)
def test_axes_that_are_given_are_drawn_in_and_returned(run, plot):
    """A figure would be shown twice by a notebook: as the cell's value, and by pyplot, whose it is."""
    figure, axes = plt.subplots(1, 2)
    assert getattr(run, plot)(ax=axes[1]) is axes[1]
    assert axes[1].has_data()
    assert not axes[0].has_data()
    assert plt.get_fignums() == [figure.number]
    assert not hasattr(axes[1], "_repr_png_")
    figure.canvas.draw()


@pytest.mark.full("covered")
def test_both_stand_side_by_side(run):
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    for ax in (run.plot_values(0, ax=left), run.plot_returns(right)):
        assert isinstance(ax, Axes)
        assert ax.get_title(loc="left")
    figure.canvas.draw()


@pytest.mark.parametrize("plot", PLOTS)
def test_axes_of_a_figure_that_pyplot_does_not_know_will_do(run, plot):
    ax = Figure().add_subplot()
    assert getattr(run, plot)(ax=ax) is ax
    assert plt.get_fignums() == []


DRAWN = {
    "run": ("run.plot_values(0, {})", "run.plot_values(ax={})", "run.plot_returns({})", "run.plot_lengths(ax={})"),
    "grid": ("plot_visits(run.record, ax={})", "plot_error(run.record, ax={})"),
    "bandit": ("bandit.plot_values(ax={})", "bandit.plot_returns({})", "plot_visits(bandit.record, ax={})"),
}
WRONG = ("[ax]", "[]", "np.array([ax, ax])", "figure", "figure.subfigures()", "3", "0", "'left'", "Axes", "matplotlib")
SETUP = f"""
import matplotlib, numpy as np, sys
from matplotlib.axes import Axes
from matplotlib.figure import Figure
sys.path.append({str(Path(records.__file__).parent)!r})
import records
from kousoku.run import Run
from kousoku.viz import plot_error, plot_visits
run, bandit = (Run(record, None, []) for record in (records.grid(), records.bandit()))
figure = Figure()
ax = figure.add_subplot()
"""


@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
def test_what_is_no_axes_is_refused(drawn):
    told = "; give one matplotlib Axes, such as axes[0]"
    check_refusals({call.format(ax): told for call in drawn for ax in WRONG}, SETUP)


@pytest.mark.by_default("plot_lengths")
@pytest.mark.parametrize("plot", PLOTS)
def test_titles_of_narrow_axes_do_not_reach_their_neighbours(run, plot):
    figure, axes = plt.subplots(1, 3, figsize=(9, 3))
    getattr(run, plot)(ax=axes[0])
    figure.canvas.draw()
    assert axes[0]._left_title.get_window_extent().x1 < axes[1].get_window_extent().x0


@pytest.mark.full("covered")
def test_states_without_a_picture_are_named_and_equal_values_are_short():
    """A map of the states in order: what an environment without panels has, before anything was learned."""
    known = ks.train("q_learning", "FrozenLake-v1", steps=20, out="", eval_episodes=0).record
    record = dataclasses.replace(known, panels=(), tables={"q": np.zeros((1, 16, 4))})
    (place, *_) = plot_values(record).axes
    assert place.get_title(loc="left").startswith("q_learning on FrozenLake-v1\n")
    assert "states in order of their index" in " ".join(place.get_title(loc="left").split())
    assert {text.get_text() for text in place.texts if "0" in text.get_text()} == {"0.00"}
