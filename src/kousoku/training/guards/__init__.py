"""Guards that end a run or refuse to begin it: numbers that are not finite, too little memory, signals."""
