"""GridWorld: one engine for every map (`env`), named maps from the literature (`named`), random mazes (`maze`)."""
