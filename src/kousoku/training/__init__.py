"""Training: a population of agents in one compiled program, driven from the host."""
