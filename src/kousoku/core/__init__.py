"""The vocabulary: timesteps, spaces, environments, agents, collectors, exact models, registries, scenes, records."""
