"""Pictures of other JAX libraries' environments: robots' bodies, scenes as ours, figures as pixels."""
