"""Cited maths of one trajectory or one step: returns, advantages, losses, exploration, distributions, statistics."""
