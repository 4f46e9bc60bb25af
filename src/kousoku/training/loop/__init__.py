"""The loop: one iteration of one agent, the program of a population, and what drives it from the host."""
