"""What holds where some lanes blow up in a step, of any environment."""

import jax
import numpy as np


def check_only_these_blew_up(bad, before, taken, good):
    """The bad lanes are terminated, say so, and stay where they were; the others keep their bits.

    Args:
        bad: which lanes, [N].
        before: states [N, ...] before the step.
        taken: states and timesteps [N, ...] after it.
        good: the same, of a step in which the bad lanes are sound too.
    """
    states, timesteps = taken
    np.testing.assert_array_equal(timesteps.info.diverged, bad)
    np.testing.assert_array_equal(timesteps.terminated, bad)
    for mine, other in zip(*map(jax.tree.leaves, (taken, good)), strict=True):
        np.testing.assert_array_equal(mine[~bad], other[~bad])
    for mine, was in zip(*map(jax.tree.leaves, (states, before)), strict=True):
        np.testing.assert_array_equal(mine[bad], was[bad])
    assert not np.asarray(timesteps.obs[bad]).any()
    assert not np.asarray(timesteps.reward[bad]).any()
