"""The stages of the smooth dynamics, in the order of MuJoCo's pipeline."""
