"""From MJCF to a model: reading, checking, MuJoCo's compiler."""
