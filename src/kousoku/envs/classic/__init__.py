"""Classic control with Gymnasium's ids, steps and limits."""
