"""Updates after one another: of each its own number, the sum of what they measure, and what each tells."""

import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.collectors.updates import make_updates


def update(i, state):
    """Appends a digit to a number; measures the number before, and tells of it twice."""
    return 10 * state + i, {"before": state, "one": jnp.float32(1.0)}, {"pair": jnp.stack([state, -state]), "i": i + 7}


@pytest.mark.parametrize(
    ("count", "state", "before", "told"),
    [
        (3, 5012, 5 + 50 + 501, [[5, -5, 7], [50, -50, 8], [501, -501, 9], [0, 0, 0]]),
        (1, 50, 5, [[5, -5, 7], [0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        (0, 5, 0, [[0, 0, 0]] * 4),
        (4, 50123, 5 + 50 + 501 + 5012, [[5, -5, 7], [50, -50, 8], [501, -501, 9], [5012, -5012, 10]]),
    ],
)
def test_updates_are_added_up_and_each_tells_its_own(count, state, before, told):
    learned, sums, rows = make_updates(update, jnp.int32(5), count, 4, None)
    assert int(learned) == state
    assert {name: float(value) for name, value in sums.items()} == {"before": before, "one": count}
    np.testing.assert_array_equal(np.column_stack([rows["pair"], rows["i"]]), told)


def test_nothing_is_told_where_there_is_nothing_to_tell():
    learned, sums, rows = make_updates(lambda i, state: (state + 1, {}, None), jnp.int32(0), jnp.int32(2), 4, None)
    assert (int(learned), sums, rows) == (2, {}, None)
