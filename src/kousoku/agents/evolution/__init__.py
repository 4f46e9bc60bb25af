"""Evolution strategies: whole policies are tried and what they return is compared, without gradients of a network."""
