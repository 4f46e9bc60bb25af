"""Numbers, vectors and matrices that leave out what is known to be zero or one."""
