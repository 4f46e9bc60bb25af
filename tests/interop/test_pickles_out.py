"""Our environments in other libraries' classes, pickled here and stepped in a process that has begun none."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked import in_a_forked_process

import kousoku as ks

NO = np.zeros(3, int)
MODES = ("NextStep", "SameStep", "Disabled")

GOES_ON = """
import json, pickle, sys
import jax, jax.numpy as jnp, numpy as np
with open({path!r}, "rb") as file:
    found = pickle.load(file)
told = {{}}
for name, (env, action) in found["stepped"].items():
    told[name] = [np.asarray(env.step(action)[0]).tolist() for _ in range(4)]
told["drawn"] = [int(picture.sum()) for picture in found["drawn"].render()]
told["received"] = found["pool"].recv()[4]["elapsed_step"].tolist()
told["reset"] = found["reset"].reset()[0].tolist()
told["new"] = found["new"].reset(seed=4)[0].tolist()
functions, params, state = found["gymnax"]
told["gymnax"] = functions.step(jax.random.key(3), state, jnp.int32(1), params)[0].tolist()
print(json.dumps(told))
"""


@pytest.mark.slow_because("another process compiles what it steps")
def test_what_was_pickled_goes_on_in_another_process(tmp_path):
    stepped = {mode: (ks.to_gymnasium_vec("CartPole-v1", 3, autoreset_mode=mode), NO) for mode in MODES}
    stepped["alone"] = ks.to_gymnasium("CartPole-v1"), 0
    stepped["wrapped"] = ks.to_gymnasium("FrozenLake-v1", wrap="time_limit:90"), 2
    for env, action in stepped.values():
        env.reset(seed=0)
        env.step(action)
    stepped["pool"] = ks.to_envpool("CartPole-v1", 3), NO
    stepped["pool"][0].reset()
    stepped["pool"][0].step(NO)
    drawn = ks.to_gymnasium_vec("CartPole-v1", 2, render_mode="rgb_array")
    drawn.reset(seed=1)
    reset, pool = ks.to_gymnasium_vec("CartPole-v1", 2), ks.to_envpool("CartPole-v1", 3, batch_size=2)
    reset.reset(seed=5)
    pool.reset()
    pool.send(NO)
    functions = ks.to_gymnax("CartPole-v1")
    params = functions.default_params
    _, state = functions.reset(jax.random.key(2), params)
    found = {"stepped": stepped, "drawn": drawn, "reset": reset, "pool": pool, "gymnax": (functions, params, state)}
    (tmp_path / "found").write_bytes(pickle.dumps(found | {"new": ks.to_gymnasium("CartPole-v1")}))
    told = in_a_forked_process(GOES_ON.format(path=str(tmp_path / "found")))
    for name, (env, action) in stepped.items():
        assert told[name] == [np.asarray(env.step(action)[0]).tolist() for _ in range(4)], name
    assert told["drawn"] == [int(picture.sum()) for picture in drawn.render()]
    assert told["received"] == [1, 1]
    assert told["reset"] == reset.reset()[0].tolist()
    assert told["new"] == ks.to_gymnasium("CartPole-v1").reset(seed=4)[0].tolist()
    assert told["gymnax"] == functions.step(jax.random.key(3), state, jnp.int32(1), params)[0].tolist()
