"""Our environments as other libraries': Gymnasium's, dm_env's, EnvPool's, gymnax's, Brax's, Stable-Baselines3's."""
