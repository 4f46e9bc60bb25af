"""Counts may be any whole number, of Python's or NumPy's, as an int or a float: wherever one is asked for."""

import pytest
from fresh_process import without_types_checked

SETTINGS = """
import json
import numpy as np
import kousoku as ks
from kousoku.training.config import TrainConfig

settings = {"steps": 60, "eval_episodes": 2, "eval_max_steps": 40, "keep_checkpoints": 1, "record_every": 30}
told = [TrainConfig(**{name: kind(value) for name, value in settings.items()}) for kind in (float, np.int64, np.uint8)]
print(json.dumps([{name: config.to_json()[name] for name in settings} == settings for config in told]))
"""


def test_settings_of_training_become_pythons_ints():
    assert without_types_checked(SETTINGS) == [True] * 3


COUNTS = """
import json
import numpy as np
import kousoku as ks

run = ks.train("q_learning", "GridWorld-v0", steps=60, seeds=2, out="", progress=False)
wanted = run.evaluate(2, seed=3, max_steps=50).returns
settings = {"steps": 60, "eval_episodes": 2, "eval_max_steps": 40, "keep_checkpoints": 1, "record_every": 30}
for kind in (int, float, np.int64, np.float32, np.uint8):
    assert np.array_equal(run.evaluate(kind(2), seed=kind(3), max_steps=kind(50)).returns, wanted)
    assert len(run.collect(kind(24), member=kind(1), seed=kind(1))) == 24
    assert run.policy(kind(1)) is not None
for kind in (float, np.int64):
    assert len(run.animate(kind(2)).films) == 2
    assert len(ks.animate("CartPole-v1", episodes=kind(2), max_steps=kind(5), seed=kind(1)).films) == 2
    out = f"run_{kind.__name__}"
    given = {name: kind(value) for name, value in settings.items()}
    ks.train("q_learning", "GridWorld-v0", out=out, progress=False, **given)
    config = ks.load(out).record.config
    assert {name: config[name] for name in settings} == settings
    assert ks.resume(out, steps=kind(90), progress=False).record.facts["steps"] == 90
said = []
for call in (
    lambda: run.evaluate(2.5),
    lambda: run.collect("5"),
    lambda: run.evaluate(2, max_steps=2**31),
    lambda: run.collect(5, greedy="no"),
    lambda: ks.check_env(ks.make("GridWorld-v0"), steps="5"),
    lambda: ks.animate("CartPole-v1", episodes=1.5),
):
    try:
        call()
    except ks.ConfigError as error:
        said.append(str(error).partition(";")[0])
print(json.dumps(said))
"""


@pytest.mark.full("more cases")
def test_counts_of_any_kind_are_counts_everywhere():
    """What is kept of them in a run's folder can be read, and the run goes on."""
    assert without_types_checked(COUNTS) == [
        "episodes: got 2.5",
        "steps: got '5'",
        f"max_steps: got {2**31}",
        "greedy: got 'no'",
        "steps: got '5'",
        "episodes: got 1.5",
    ]
