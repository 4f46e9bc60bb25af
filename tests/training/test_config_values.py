"""Values of a run's settings that are of no use, whatever they are: one line each."""

from fresh_process import check_refusals, without_types_checked

from kousoku.training.config import TrainConfig

EVERY_SETTING = """
import dataclasses, json
import jax.numpy as jnp
import numpy as np
from kousoku.core.errors import ConfigError
from kousoku.training.config import TrainConfig

odd = [
    1, -1, True, None, print, object(), b"x", "x", 1j, float("nan"), 2**31, 10**400, 10**5000, 1e300, np.int64(3),
    np.array(5), np.array("a"), np.ones(3), jnp.int32(3), jnp.ones((2, 2)), [], {}, {1}, [None], [[1]], [np.array(5)],
    {"a": 5}, {"a": np.array(5)}, {"a": None}, {"a": [10**400, 1]}, {5: [1]},
]
told = 0
for field in dataclasses.fields(TrainConfig):
    for value in odd:
        try:
            config = TrainConfig(**{field.name: value})
        except ConfigError as error:
            assert chr(10) not in str(error) and len(str(error)) < 220, str(error)
            told += 1
        except Exception as error:
            raise SystemExit(f"{field.name}: {error!r}")
print(told)
"""


def test_every_setting_refuses_in_one_line():
    assert without_types_checked(EVERY_SETTING) > 300


def test_what_is_no_list_of_names_no_text_or_no_count_is_told():
    calls = {
        f"TrainConfig(log={value})": "give a list with any of tensorboard, wandb"
        for value in ("1", "None", "True", "print", "np.array(5)")
    }
    calls |= {
        f"TrainConfig(command={value})": "give the text of a shell command, or leave it out"
        for value in ("np.int64(3)", "5", "print", "b'x'", "['kousoku']")
    }
    calls |= {
        "TrainConfig(record=np.array(5))": "record: got array(5); give a list of names, of 'returns'",
        "TrainConfig(record=[np.array(5)])": "record[0]: got array(5); use one of 'returns'",
        "TrainConfig(record=[['info']])": "record[0]: got ['info']; use one of 'returns'",
        "TrainConfig(sweep=[0.1])": "sweep: got [0.1]; give {name: [values]}",
        "TrainConfig(seeds=10**400)": "use a whole number of at least 1 and at most 2147483647",
        "TrainConfig(eval_episodes=10**400)": "use a whole number of at least 0 and at most 2147483647",
        "TrainConfig(checkpoint_every=10**400)": "use a whole number of at least 1 and at most 1000000000000000",
    }
    check_refusals(calls, "import numpy as np\nfrom kousoku.training.config import TrainConfig")


def test_a_swept_number_that_no_float_holds_is_infinite():
    assert TrainConfig(sweep={"clip": [10**400, 1]}).sweep["clip"] == [float("inf"), 1]
