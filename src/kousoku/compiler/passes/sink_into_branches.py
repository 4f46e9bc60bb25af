"""Sinks work that only some lanes need into branches.

Environments are written with `where`: compute a fresh start state at every step, and take it where the episode ended. A
kernel can do better: operations whose results are used only where a condition holds go into a branch, which runs only
if the condition holds in some lane. The pass looks for selections by one scalar condition and moves what feeds one side
of them alone into a `cond`, if that is costly enough, or if there are so many selections that not to select is worth a
branch: a state of hundreds of numbers, each of which is another one where an episode ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ..ir import Atom, Graph, Op, Var

MIN_COST = 96
IN_REGISTERS = 32
"""Elements of an array up to which it is selected in registers, number by number."""
MOST_LEVELS = 48
"""Branches within branches that the pass makes, at most: selections of selections are as many as a user writes."""
ROOM = 1 << 64
"""Between the numbers of neighbours: so often can others be put between them before all are numbered anew."""
SIDES = (1, 2)
COSTS = {"threefry2x32": 80, "while": 2000, "scan": 400, "cond": 100, "sort": 400, "gather": 8, "exp": 12, "log": 12}


def sink_into_branches(graph: Graph) -> Graph:
    """Returns the graph with costly one-sided work in branches."""
    ops = [op.with_graphs(sink_into_branches) for op in graph.ops]
    graph = Graph(graph.inputs, ops, graph.outputs)
    flow = Flow(graph)
    for condition, selections in flow.conditions():
        left = flow.in_order(op for op in selections if op in flow)
        if _worth(left, [flow.only_for(left, side) for side in SIDES]) >= MIN_COST:
            _sink_by(flow, condition, left)
    return flow.graph()


def cost_of(ops: Iterable[Op]) -> int:
    """Estimates what operations cost."""
    return sum(COSTS.get(op.name, 1) * max([1, *(v.size for v in op.outputs)]) for op in ops)


class Flow:
    """The operations of a graph in their order, and those that make and read each array.

    What is sunk changes it where it is: to make it anew each time would take the square of a program's length.

    Attributes:
        origin: the operation that makes an array, by the array's id.
        uses: the operations that read it, by their ids; None for the graph's outputs.
        place: a number of each operation, by its id; they rise in the operations' order, and leave room in between.
        before, after: its neighbours.
    """

    def __init__(self, graph: Graph) -> None:
        self.inputs, self.outputs = graph.inputs, graph.outputs
        self.origin = {id(v): op for op in graph.ops for v in op.outputs}
        self.uses: dict[int, dict[int, Op | None]] = defaultdict(dict)
        for op in graph.ops:
            self._read_by(op)
        for a in graph.outputs:
            self.uses[id(a)][id(None)] = None
        self.begin, self.end = Op("begin", [], [], {}), Op("end", [], [], {})
        self.place: dict[int, int] = {}
        self.before: dict[int, Op] = {id(self.end): self.begin}
        self.after: dict[int, Op] = {id(self.begin): self.end}
        self._link(graph.ops, self.end)
        self._number()
        self.pruned = False

    def __contains__(self, op: Op) -> bool:
        return id(op) in self.place

    def graph(self) -> Graph:
        """Returns it as a graph."""
        return Graph(self.inputs, list(self.between(self.begin, self.end)), self.outputs)

    def between(self, first: Op, last: Op) -> Iterator[Op]:
        """Yields the operations after one and before another one."""
        op = self.after[id(first)]
        while op is not last:
            yield op
            op = self.after[id(op)]

    def in_order(self, ops: Iterable[Op]) -> list[Op]:
        """Returns operations in their order."""
        return sorted(ops, key=lambda op: self.place[id(op)])

    def replace(self, gone: list[Op], branch: Op) -> None:
        """Puts a branch in the place of operations: as late as may be, with what it needs before it, and without what
        nobody needs any more.
        """
        for op in gone:
            self._remove(op)
        self._read_by(branch)
        self.origin.update((id(v), branch) for v in branch.outputs)
        users = (user for v in branch.outputs for user in self.uses[id(v)].values() if user is not None)
        first = min(users, key=lambda op: self.place[id(op)], default=self.end)
        moved = self._needed(branch, first)
        for op in moved[:-1]:
            self._unlink(op)
        self._insert(moved, first)
        self._prune([a for op in gone for a in op.inputs])

    def _needed(self, branch: Op, first: Op) -> list[Op]:
        """Returns what has to come before `first`, and comes after it yet, so that a branch can: the branch is last."""
        found: dict[int, Op] = {}
        waiting = [branch]
        while waiting:
            op = waiting[-1]
            makers = (self.origin.get(id(a)) for a in op.inputs)
            later = [m for m in makers if m is not None and id(m) not in found and self._is_after(m, first)]
            if later and id(op) not in found:
                waiting += later
            else:
                found.setdefault(id(op), waiting.pop())
        return list(found.values())

    def _is_after(self, op: Op, other: Op) -> bool:
        return self.place[id(op)] > self.place[id(other)]

    def _prune(self, read: list[Atom]) -> None:
        """Removes operations whose results nobody reads: the first time all, then those that make what is given."""
        if not self.pruned:
            self.pruned = True
            read = [v for op in self.between(self.begin, self.end) for v in op.outputs]
        while read:
            op = self.origin.get(id(read.pop()))
            if op is not None and not any(self.uses[id(v)] for v in op.outputs):
                self._remove(op)
                read += op.inputs

    def _read_by(self, op: Op) -> None:
        for a in op.inputs:
            self.uses[id(a)][id(op)] = op

    def _remove(self, op: Op) -> None:
        self._unlink(op)
        del self.place[id(op)]
        for a in op.inputs:
            self.uses[id(a)].pop(id(op), None)
        for v in op.outputs:
            del self.origin[id(v)]

    def _unlink(self, op: Op) -> None:
        before, after = self.before.pop(id(op)), self.after.pop(id(op))
        self.before[id(after)], self.after[id(before)] = before, after

    def _link(self, ops: Sequence[Op], following: Op) -> None:
        for op in ops:
            before = self.before[id(following)]
            self.before[id(op)], self.after[id(op)] = before, following
            self.before[id(following)] = self.after[id(before)] = op

    def _insert(self, ops: Sequence[Op], following: Op) -> None:
        """Puts operations before another one."""
        low, high = self.place[id(self.before[id(following)])], self.place[id(following)]
        step = (high - low) // (len(ops) + 1)
        self._link(ops, following)
        self.place.update((id(op), low + step * i) for i, op in enumerate(ops, 1))
        if not step:
            self._number()

    def _number(self) -> None:
        for i, op in enumerate([self.begin, *self.between(self.begin, self.end), self.end]):
            self.place[id(op)] = i * ROOM

    def conditions(self) -> list[tuple[Var, list[Op]]]:
        """Returns the scalar booleans that select, and their selections."""
        found: dict[int, tuple[Var, list[Op]]] = {}
        for op in self.between(self.begin, self.end):
            condition = self._scalar_condition(op.inputs[0]) if op.name == "select_n" else None
            if condition is not None:
                found.setdefault(id(condition), (condition, []))[1].append(op)
        return list(found.values())

    def _scalar_condition(self, atom: Atom) -> Var | None:
        """Returns the scalar boolean that `atom` is, or repeats."""
        while isinstance(atom, Var) and atom.dtype.kind == "b":
            if atom.shape == ():
                return atom
            op = self.origin.get(id(atom))
            if op is None or op.name not in ("broadcast_in_dim", "reshape") or op.inputs[0].size != 1:
                return None
            atom = op.inputs[0]
        return None

    def only_for(self, selections: list[Op], side: int) -> list[Op]:
        """Returns the operations whose results only the selections' inputs number `side` use, in the graph's order."""
        chosen = set(map(id, selections))
        inside: dict[int, Op] = {}

        def serves(op: Op) -> bool:
            if meets_others(op):  # all devices have to, whatever is selected on each
                return False
            if any(graph.levels >= MOST_LEVELS - 1 for graph in op.graphs()):
                return False
            for v in op.outputs:
                for user in self.uses[id(v)].values():
                    if user is None:
                        return False
                    if id(user) in inside:
                        continue
                    if id(user) not in chosen or any(a is v for i, a in enumerate(user.inputs) if i != side):
                        return False
            return True

        waiting = [op.inputs[side] for op in selections]
        while waiting:
            op = self.origin.get(id(waiting.pop()))
            if op is not None and id(op) not in chosen and id(op) not in inside and serves(op):
                inside[id(op)] = op
                waiting += op.inputs
        return self.in_order(inside.values())

    def independent(self, selections: list[Op]) -> list[Op]:
        """Returns the selections of which none depends on another."""
        if len(selections) < 2:
            return selections
        chosen = [selections[0]]
        wanted = set(map(id, selections))
        tainted = {id(selections[0].outputs[0])}
        for op in [*self.between(selections[0], selections[-1]), selections[-1]]:
            depends = any(id(a) in tainted for a in op.inputs)
            if id(op) in wanted and not depends:
                chosen.append(op)
                tainted.add(id(op.outputs[0]))
            elif depends:
                tainted.update(map(id, op.outputs))
        return chosen


def meets_others(op: Op) -> bool:
    """Returns whether several devices have to run the operation together."""
    return "devices" in op.params or any(graph.devices for graph in op.graphs())


def _sink_by(flow: Flow, condition: Var, selections: list[Op]) -> None:
    """Sinks what one condition's selections allow."""
    selections = flow.independent(selections)
    sides = [flow.only_for(selections, side) for side in SIDES]
    if _worth(selections, sides) < MIN_COST:
        return
    branches, operands = _branches(selections, sides)
    outputs = [op.outputs[0] for op in selections]
    branch = Op("cond", [condition, *operands], outputs, {"branches": branches})
    moved = {id(op): op for side in sides for op in side}
    flow.replace([*moved.values(), *selections], branch)


def _worth(selections: list[Op], sides: list[list[Op]]) -> int:
    """Estimates what a branch saves where no lane takes it: the work of a side, or the selections themselves."""
    selected = sum(size for op in selections if (size := op.outputs[0].size) <= IN_REGISTERS)
    return max(selected, *map(cost_of, sides))


def _branches(selections: list[Op], sides: list[list[Op]]) -> tuple[tuple[Graph, ...], list[Var]]:
    """Makes a graph for each side, and returns what they read."""
    made = [{id(v) for op in side for v in op.outputs} for side in sides]
    operands: dict[int, Var] = {}
    for number, side in enumerate(sides):
        results = [op.inputs[number + 1] for op in selections]
        for a in [a for op in side for a in op.inputs] + results:
            if isinstance(a, Var) and id(a) not in made[number]:
                operands[id(a)] = a
    graphs = []
    for number, side in enumerate(sides):
        renamed: dict[int, Atom] = {i: Var(v.shape, v.dtype) for i, v in operands.items()}
        inputs = list(renamed.values())
        ops = [Op(op.name, [renamed.get(id(a), a) for a in op.inputs], op.outputs, op.params) for op in side]
        results = [op.inputs[number + 1] for op in selections]
        graphs.append(Graph(inputs, ops, [renamed.get(id(a), a) for a in results]))  # type: ignore[arg-type]
    return tuple(graphs), list(operands.values())
