"""The words for an environment that ends the program.

Processes that only step environments import this: it needs no JAX.
"""

from ...core.errors import error_text


def exit_text(error: BaseException) -> str:
    """Returns what an error of others' code says, in one line; of the end of the program, as of a closed window, that.

    Examples:
        >>> exit_text(SystemExit(3)), exit_text(ValueError("no such map"))
        ('it called sys.exit(3)', 'no such map')
    """
    return f"it called sys.exit({error.code!r})" if isinstance(error, SystemExit) else error_text(error)
