"""k-armed bandits, stationary and drifting."""
