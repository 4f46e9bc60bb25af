"""Sinks work that only some lanes need into branches.

Environments are written with `where`: compute a fresh start state at every step, and take it where the episode ended. A
kernel can do better: operations whose results are used only where a condition holds go into a branch, which runs only
if the condition holds in some lane. The pass looks for selections by one scalar condition and moves what feeds one side
of them alone into a `cond`, if that is costly enough, or if there are so many selections that not to select is worth a
branch: a state of hundreds of numbers, each of which is another one where an episode ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ..ir import Atom, Graph, Literal, Op, Var

MIN_COST = 96
IN_REGISTERS = 32
"""Elements of an array up to which it is selected in registers, number by number."""
SIDES = (1, 2)
COSTS = {"threefry2x32": 80, "while": 2000, "scan": 400, "cond": 100, "sort": 400, "gather": 8, "exp": 12, "log": 12}


def sink_into_branches(graph: Graph) -> Graph:
    """Returns the graph with costly one-sided work in branches."""
    ops = [op.with_graphs(sink_into_branches) for op in graph.ops]
    graph = Graph(graph.inputs, ops, graph.outputs)
    flow = Flow(graph)
    for condition, selections in flow.conditions():
        if _worth(selections, [flow.only_for(selections, side) for side in SIDES]) < MIN_COST:
            continue
        changed = _sink_by(graph, flow, condition)
        if changed is not graph:
            graph, flow = changed, Flow(changed)
    return graph


def cost_of(ops: Iterable[Op]) -> int:
    """Estimates what operations cost."""
    return sum(COSTS.get(op.name, 1) * max([1, *(v.size for v in op.outputs)]) for op in ops)


class Flow:
    """The operations that make and read each array of a graph.

    Attributes:
        origin: the operation that makes an array, by the array's id.
        uses: the operations that read it; None for the graph's outputs.
        place: of an operation in the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.origin = {id(v): op for op in graph.ops for v in op.outputs}
        self.place = {id(op): i for i, op in enumerate(graph.ops)}
        self.uses: dict[int, list[Op | None]] = defaultdict(list)
        for op in graph.ops:
            for a in op.inputs:
                self.uses[id(a)].append(op)
        for a in graph.outputs:
            self.uses[id(a)].append(None)

    def conditions(self) -> list[tuple[Var, list[Op]]]:
        """Returns the scalar booleans that select, and their selections."""
        found: dict[int, tuple[Var, list[Op]]] = {}
        for op in self.graph.ops:
            condition = self._scalar_condition(op.inputs[0]) if op.name == "select_n" else None
            if condition is not None:
                found.setdefault(id(condition), (condition, []))[1].append(op)
        return list(found.values())

    def selections(self, condition: Var) -> list[Op]:
        """Returns the selections by that condition."""
        return next((chosen for found, chosen in self.conditions() if found is condition), [])

    def _scalar_condition(self, atom: Atom) -> Var | None:
        """Returns the scalar boolean that `atom` is, or repeats."""
        if isinstance(atom, Literal) or atom.dtype.kind != "b":
            return None
        if atom.shape == ():
            return atom
        op = self.origin.get(id(atom))
        if op is not None and op.name in ("broadcast_in_dim", "reshape") and op.inputs[0].size == 1:
            return self._scalar_condition(op.inputs[0])
        return None

    def only_for(self, selections: list[Op], side: int) -> list[Op]:
        """Returns the operations whose results only the selections' inputs number `side` use, in the graph's order."""
        chosen = set(map(id, selections))
        inside: dict[int, Op] = {}

        def serves(op: Op) -> bool:
            if meets_others(op):  # all devices have to, whatever is selected on each
                return False
            for v in op.outputs:
                for user in self.uses[id(v)]:
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
        return sorted(inside.values(), key=lambda op: self.place[id(op)])


def meets_others(op: Op) -> bool:
    """Returns whether several devices have to run the operation together."""
    return "devices" in op.params or any(graph.devices for graph in op.graphs())


def _sink_by(graph: Graph, flow: Flow, condition: Var) -> Graph:
    """Sinks what one condition's selections allow."""
    selections = _independent(graph, flow.selections(condition))
    sides = [flow.only_for(selections, side) for side in SIDES]
    if _worth(selections, sides) < MIN_COST:
        return graph
    moved = {id(op) for side in sides for op in side}
    branches, operands = _branches(selections, sides)
    outputs = [op.outputs[0] for op in selections]
    branch = Op("cond", [condition, *operands], outputs, {"branches": branches})
    gone = moved | set(map(id, selections))
    rest = [op for op in graph.ops if id(op) not in gone]
    return Graph(graph.inputs, _ordered([*rest, branch]), graph.outputs).without_dead_code()


def _worth(selections: list[Op], sides: list[list[Op]]) -> int:
    """Estimates what a branch saves where no lane takes it: the work of a side, or the selections themselves."""
    selected = sum(size for op in selections if (size := op.outputs[0].size) <= IN_REGISTERS)
    return max(selected, *map(cost_of, sides))


def _independent(graph: Graph, selections: list[Op]) -> list[Op]:
    """Returns the selections of which none depends on another."""
    chosen: list[Op] = []
    wanted = set(map(id, selections))
    tainted: set[int] = set()
    for op in graph.ops:
        depends = any(id(a) in tainted for a in op.inputs)
        if id(op) in wanted and not depends:
            chosen.append(op)
            tainted.add(id(op.outputs[0]))
        elif depends:
            tainted.update(map(id, op.outputs))
    return chosen


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


def _ordered(ops: list[Op]) -> list[Op]:
    """Orders the operations so that each comes after what it reads, else as given."""
    origin = {id(v): op for op in ops for v in op.outputs}
    done: set[int] = set()
    order: list[Op] = []
    for start in ops:
        waiting = [start]
        while waiting:
            op = waiting[-1]
            if id(op) in done:
                waiting.pop()
                continue
            needs = [origin[id(a)] for a in op.inputs if id(a) in origin and id(origin[id(a)]) not in done]
            if needs:
                waiting += needs
            else:
                waiting.pop()
                done.add(id(op))
                order.append(op)
    return order
