"""Learning curves and losses as the JSON that the report's page draws from."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.record import EVALUATIONS, RunRecord
from .curve_data import (
    ESTIMATED,
    Curve,
    curve,
    evaluation_of,
    primary_curve,
    wants_log_axis,
    what_is_told,
)
from .encode import numbers
from .estimates import how_drawn, statistic
from .ranking import optimum
from .reports import has_values
from .style import colored
from .text import point_name

MAX_MEMBERS = 50
MAX_FAINT_CURVES = 40

CURVES = {
    "return": ("Return", "return of the episodes that ended"),
    "reward": ("Reward", "reward per step"),
    ESTIMATED: ("Return, from the reward", "reward per step × steps of an episode; some reports saw no episode end"),
    "length": ("Episode length", "steps per episode"),
    "td_error": ("TD error", "mean absolute TD error"),
    "eval_return": ("Greedy return", "return of the greedy evaluations"),
    "info.optimal": ("Optimal actions", "share of the steps in which the best action was taken"),
    "info.regret": ("Regret", "mean per step: what the best action's mean reward was above that of the one taken"),
    "value_error": ("Value error", "mean distance from the exact values over all states"),
    "value_bias": ("Bias of values", "what was expected of actions, minus the discounted return that followed them"),
}
VALUES_AND_RETURNS = "Values and returns"
TRAINING = "while training"
CURVE_OF = {"eval_return": "greedy evaluations"}
"""What is told of a curve that was not recorded while training."""
LOSSES = {
    "policy_loss": ("Policy loss", "Small and noisy around zero. Its size says little; a steady drift is a warning."),
    "value_loss": ("Value loss", "Often rises while returns grow, then falls. It should not keep growing."),
    "entropy": ("Entropy", "How random the actions are. Falls slowly; an early plunge means exploring has ended."),
    "approx_kl": ("Approximate KL", "How far an update moves the policy. Steady, mostly below 0.02; no spikes."),
    "clipfrac": ("Clip fraction", "Share of samples that were clipped. Mostly 0.05 to 0.3; near 0, updates are timid."),
    "explained_variance": (
        "Explained variance",
        "Of the returns, by the critic. Rises towards 1; says nothing where returns are alike.",
    ),
    "gradient_norm": ("Gradient norm", "Before any limit. Steady or falling; spikes ask for a lower learning rate."),
    "learning_rate": ("Learning rate", "As it was asked for: constant, or falling to the end."),
    "td_loss": ("TD loss", "Of the action values. Its size says little: the targets move, and grow with the values."),
    "q_values": ("Action values", "Mean of those learned from, by older policies, too."),
    "epsilon": ("Epsilon", "Probability of a random action, as it was asked for."),
    "qf_loss": ("Critics' loss", "Its size says little: the targets move, and grow with the values."),
    "qf_values": ("Critics' values", "Mean of those learned from, by older policies, too."),
    "actor_loss": ("Actor loss", "Minus the values of what the policy does, mostly: falls while these grow."),
    "alpha": ("Temperature", "What entropy weighs. Falls where the policy is more random than was asked for."),
    "alpha_loss": ("Temperature's loss", "Near 0 once the entropy is what was asked for."),
    "return_std": ("Deviation of returns", "Over a generation's candidates. At 0 all do the same: use more noise."),
    "update_norm": ("Step of the mean", "How far a generation moves the mean policy's parameters."),
    "noise_std": ("Noise", "Deviation of the candidates' parameters."),
    "step_size": ("Step size", "Of the search. Grows while it travels, shrinks where it has arrived."),
}
_IMITATED = {
    "policy_loss": ("Policy loss", "How far the policy is from the actions to imitate. Falls, then levels off."),
    "entropy": ("Entropy", "How random the policy is. Falls as it comes to be sure of what to imitate."),
    "accuracy": ("Accuracy", "How often the likeliest action is the one to imitate. Rises."),
}
LOSSES_OF: dict[str, dict[str, tuple[str, str]]] = {
    "apg": {"policy_loss": ("Policy loss", "Minus the return through the simulator, a step: falls while it grows.")},
    "bc": _IMITATED,
    "dagger": _IMITATED,
    "iql": {
        "value_loss": ("Value loss", "Of an expectile of the critics' values. Grows with them; its size says little."),
        "entropy": ("Entropy", "How random the policy is, which does not act while it learns."),
        "actor_loss": ("Actor loss", "How unlikely recorded actions are, weighted. Its size says little."),
        "advantage": ("Advantage", "Of recorded actions over what the best of them are worth: mostly below 0."),
        "weight": ("Weight", "How much a recorded action counts, on average. At 1 all count alike, as in cloning."),
    },
    "td3_bc": {
        "actor_loss": ("Actor loss", "Distance from the recorded actions, minus what the policy's are worth."),
        "policy_loss": ("Policy loss", "Squared distance from the recorded actions alone."),
    },
}
"""{agent's id: what its own metrics mean}, where the names are those of other agents, or no one else's."""
BEST, WORST = "return_max", "return_min"
"""Curves of the best and the worst candidate of a generation, where policies are tried whole."""
EXPECTED, FOLLOWED, BIAS = "value_estimate", "discounted_return", "value_bias"
"""Curves of what an agent expected of its actions, of what followed, and how far the first lies above the second."""
COUNTED = ("step", "seconds", "episodes", "blown_up", "eval_step")
OTHERS = (*COUNTED, *EVALUATIONS, BEST, WORST, EXPECTED, FOLLOWED, *CURVES)
MANY_REPORTS = 250
"""Points of a loss curve, which is small on the page."""


def curves(record: RunRecord, order: list[int]) -> dict[str, Any] | None:
    """Returns the curve that shows the learning first, then what else was recorded, and how they were made."""
    names = _curve_names(record)
    charts = [_chart(record, name, order) for name in names]
    if _has_candidates(record):
        charts.insert(1, _candidates(record, order))
    if names and has_values(record.curves.get(EXPECTED)):
        charts.insert(1, _expected(record, order))
    return {**how_drawn(record), "charts": charts} if names else None


def _has_candidates(record: RunRecord) -> bool:
    """Returns whether candidates of generations are told of."""
    return {"return", BEST, WORST} <= set(record.curves)


def losses(record: RunRecord, order: list[int]) -> dict[str, Any] | None:
    """Returns what the updates told about themselves: small charts with a line on what a healthy one looks like."""
    names = loss_names(record)
    return {**how_drawn(record), "charts": [_loss(record, name, order) for name in names]} if names else None


def loss_names(record: RunRecord) -> list[str]:
    """Returns the curves of the updates' metrics: those with a known meaning first."""
    hidden = set(OTHERS) if _has_candidates(record) else set(OTHERS) - {BEST, WORST}
    names = [n for n in record.curves if n not in hidden and not n.startswith("info.")]
    there = [n for n in names if np.isfinite(np.asarray(record.curves[n], np.float64)).any()]
    return [n for n in LOSSES if n in there] + sorted((n for n in there if n not in LOSSES), key=_in_order)


def _in_order(name: str) -> str:
    """Returns by what names are sorted as people do it: x2 before x10."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), name)


def _curve_names(record: RunRecord) -> list[str]:
    """Lists the curves: the reward only in the return's place, evaluations by themselves only beside it.

    Where the reward is that of recorded data it shows no learning, and the evaluations stand before it.
    """
    first = primary_curve(record)
    evaluated = first == "reward" and len(record.curves.get("eval_step", ())) > 1
    leading = [name for name in (first, "eval_return" if evaluated else None) if name in record.curves]
    leading = leading[::-1] if record.of_recorded_data else leading
    others = [n for n in record.curves if n in ("return", "length", "td_error", "value_error")]
    others += sorted((n for n in record.curves if n.startswith("info.")), key=_in_order)
    useful = [n for n in others if n != first and not np.isnan(np.asarray(record.curves[n], np.float64)).all()]
    return leading + useful


def _chart(record: RunRecord, name: str, order: list[int]) -> dict[str, Any]:
    data = curve(record, name)
    title, unit = CURVES.get(name, (name.removeprefix("info."), f"mean of {name.removeprefix('info.')} per step"))
    unit = what_is_told(record, name, unit)
    log = wants_log_axis(name, data.members)
    unit += " (logarithmic)" if log else ""
    evals = _evaluations(record, evaluation_of(name), order) if name == primary_curve(record) else None
    best = optimum(record) if name in ("return", ESTIMATED, "eval_return") else None
    shown = {"optimum": None if best is None else numbers(best)[0], "evals": evals}
    return {
        "title": title,
        "unit": unit,
        "log": log,
        **_drawn(record, data, order, CURVE_OF.get(name, TRAINING)),
        **shown,
    }


def _candidates(record: RunRecord, order: list[int]) -> dict[str, Any]:
    """Returns the returns of the candidates of each generation: their mean, and a band from the worst to the best."""
    data = curve(record, "return")
    drawn = _drawn(record, data, order) | {"members": []}
    ends = [curve(record, name).mean for name in (WORST, BEST)]
    for series, point in zip(drawn["series"], order, strict=False):
        if series["color"] >= 0:
            series["low"], series["high"] = (numbers(end[:, point]) for end in ends)
        if len(record.points) == 1:
            series["name"] = f"mean of a generation, {_who(record)}"
    title, unit = "Return of the candidates", "mean of a generation; the band is from the worst to the best"
    return {"title": title, "unit": unit, "log": False, **drawn, "optimum": None, "evals": None}


def _expected(record: RunRecord, order: list[int]) -> dict[str, Any]:
    """Returns what actions were expected to be worth beside what followed: of several sweep points the difference.

    References:
        Fujimoto, van Hoof and Meger, arXiv:1802.09477, figure 1.
    """
    if len(record.points) > 1:
        bias = np.asarray(record.curves[EXPECTED], np.float64) - np.asarray(record.curves[FOLLOWED], np.float64)
        return _chart(replace(record, curves=record.curves | {BIAS: bias}), BIAS, order)
    both = [_drawn(record, curve(record, name), order) for name in (EXPECTED, FOLLOWED)]
    for color, (drawn, what) in enumerate(zip(both, ("what the agent expected", "what followed"), strict=True)):
        drawn["series"][0] |= {"name": f"{what}{_of_agents(record)}", "color": color}
        drawn["members"] = [member | {"color": color} for member in drawn["members"]]
    merged = {name: [each for drawn in both for each in drawn[name]] for name in ("series", "members")}
    unit = "the value of each action taken, and the discounted return that followed it"
    return {
        "title": VALUES_AND_RETURNS,
        "unit": unit,
        "log": False,
        **both[0],
        **merged,
        "optimum": None,
        "evals": None,
    }


def _loss(record: RunRecord, name: str, order: list[int]) -> dict[str, Any]:
    """Returns a loss without intervals, which nobody reads on so small a chart."""
    told = LOSSES | LOSSES_OF.get(str(record.config.get("agent", {}).get("id")), {})
    title, healthy = told.get(name, (name.replace("_", " ").capitalize(), _own(name)))
    if name in ("q_values", "qf_values") and has_values(record.curves.get(EXPECTED)):
        several = len(record.points) > 1
        healthy += f" For the present ones see {CURVES[BIAS][0] if several else VALUES_AND_RETURNS}, above."
    drawn = _drawn(record, curve(record, name, MANY_REPORTS), order)
    for series in drawn["series"]:
        series["low"] = series["high"] = None
    return {"title": title, "name": name, "healthy": healthy, "log": False, **drawn, "optimum": None, "evals": None}


def _own(name: str) -> str:
    """Says what is known of a metric of somebody's own: of errors the sums leave the sign out, which would cancel."""
    what = "Mean of absolute values" if name.endswith("error") else "Mean"
    return f"{what} over the updates since the last report."


def _drawn(record: RunRecord, data: Curve, order: list[int], when: str = TRAINING) -> dict[str, Any]:
    """Returns the axes' numbers, a series for each sweep point, how many have none, and single agents.

    Args:
        record: of the run.
        data: what is drawn.
        order: of the sweep points, best first.
        when: the lines were seen, in words.
    """
    ranks = {point: rank for rank, point in enumerate(order)}
    colors = [ranks[int(point)] for point in record.member_point]
    faint = range(record.num_members) if 1 < record.num_members <= MAX_MEMBERS else ()
    members = [
        {"color": colors[n], "values": numbers(data.members[:, n])} for n in faint if colors[n] < colored(len(order))
    ]
    seconds = None if data.seconds is None else numbers(data.seconds)
    series = _series(record, data, order, when)
    left = len(order) - len(series)
    return {"step": _steps(data), "seconds": seconds, "series": series, "left": left, "members": members}


def _series(record: RunRecord, data: Curve, order: list[int], when: str = TRAINING) -> list[dict[str, Any]]:
    single, best = len(record.points) == 1, colored(len(record.points))
    return [
        {
            "name": f"{when}, {_who(record)}" if single else point_name(record, p),
            "color": rank if rank < best else -1,
            "mean": numbers(data.mean[:, p]),
            "low": numbers(data.low[:, p]) if rank < best else None,
            "high": numbers(data.high[:, p]) if rank < best else None,
        }
        for rank, p in enumerate(order[: best + MAX_FAINT_CURVES])
    ]


def _evaluations(record: RunRecord, name: str, order: list[int]) -> dict[str, Any] | None:
    """Returns what greedy episodes during training returned: of one sweep point in a colour of its own."""
    if name not in record.curves:
        return None
    data = curve(record, name)
    series = _series(record, data, order[: colored(len(order))])
    if len(record.points) == 1:
        words = "greedy evaluations, the last" if len(data.step) > 1 else "greedy evaluation"
        series[0] |= {"name": f"{words} at step {int(data.step[-1]):,}", "color": 1}
    seconds = None if data.seconds is None else numbers(data.seconds)
    return {"step": _steps(data), "seconds": seconds, "series": series}


def _steps(data: Curve) -> list[int]:
    """Returns the steps of the reports in full: rounded ones may coincide."""
    return data.step.astype(np.int64).tolist()


def _who(record: RunRecord) -> str:
    return "the agent" if record.num_members == 1 else f"{statistic(record)} of {record.num_members:,} agents"


def _of_agents(record: RunRecord) -> str:
    return "" if record.num_members == 1 else f", {_who(record)}"
