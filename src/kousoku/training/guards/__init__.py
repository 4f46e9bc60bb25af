"""What ends a run or refuses to begin it: numbers that are not finite, too little memory, signals."""
