"""MinAtar: five Atari games in small, with the rules of the package `minatar` to the last one."""
