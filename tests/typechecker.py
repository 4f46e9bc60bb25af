"""beartype as the type checker of the tests: an int may stand where a float is asked for, as PEP 484 says."""

from beartype import BeartypeConf, beartype

typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
