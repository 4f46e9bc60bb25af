"""Models from MJCF: reading, checking, MuJoCo's compiler."""
