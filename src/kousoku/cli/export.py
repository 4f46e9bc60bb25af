"""`kousoku export RUN --out policy.py`: an agent's greedy policy as a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import ConfigError
from .options import CHECKPOINT, RUN, Option, checkpoint, named_run, parse, target
from .values import count

POLICY = "policy.py"
OPTIONS = (
    RUN,
    Option("out", POLICY, "FILE", "NumPy code where it ends in .py, an ONNX model where it ends in .onnx"),
    Option("member", None, "NUMBER", "which agent of the run; by default the best one"),
    CHECKPOINT,
)


def run(words: Sequence[str]) -> int:
    """Writes the file and says where."""
    from ..saved_runs import load

    given = parse("export", "Write an agent's greedy policy as a file of its own.", OPTIONS, words)
    folder = named_run(given, "export RUN --out policy.py")
    member = count("--member", str(given["member"]), low=0) if "member" in given else None
    written = target(given, POLICY)
    if "out" not in given and written.exists():
        raise ConfigError("--out", POLICY, "the file is there already, and is left as it is; name one by --out")
    policy = load(folder, checkpoint=checkpoint(given)).policy(member)
    print(f"{policy.title}: {policy.save(written)}")
    return 0
