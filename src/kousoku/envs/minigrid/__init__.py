"""MiniGrid's standard tasks: small worlds of rooms, doors and keys, with the rules of the package `minigrid`."""
