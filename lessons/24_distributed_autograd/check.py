"""Lesson 24: the gradients of one graph, wherever it is cut, and in whatever order the messages come."""

from collections import Counter
from types import SimpleNamespace

import across
from hypothesis import given, strategies as st

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed import autograd, rpc
from minitorch_dist.distributed.autograd import passes
from minitorch_dist.tensors.core.engine import NodeTask, count_edges
from mtd.course import MeasuredCost, lab, lamp

LEAF = "leaf"

# A graph is a list of nodes (kind, i, j, rank); leaves have a value for i. The last one is the root.
DIAMOND = [(LEAF, 3, 0, 0), ("·", 0, 0, 1), ("+", 0, 0, 2), ("·", 1, 2, 0)]  # x·x on 1, x+x on 2
FAN = [(LEAF, 2, 0, 0), (LEAF, 5, 0, 1), ("·", 0, 1, 2), ("+", 0, 2, 1), ("·", 2, 3, 0)]


@st.composite
def graphs(draw, ranks):
    """Up to 4 leaves and 8 operations, cut anywhere; all of it leads to the root."""
    rank = st.integers(0, ranks - 1)
    graph = [
        (LEAF, draw(st.integers(-3, 3)), 0, draw(rank)) for _ in range(draw(st.integers(1, 4)))
    ]
    for _ in range(draw(st.integers(1, 8))):
        place = st.integers(0, len(graph) - 1)
        graph.append((draw(st.sampled_from("+·")), draw(place), draw(place), draw(rank)))
    used = {place for kind, i, j, _ in graph if kind != LEAF for place in (i, j)}
    for loose in sorted(set(range(len(graph) - 1)) - used):
        graph.append(("+", loose, len(graph) - 1, draw(rank)))
    return graph


def gradients(graph):
    """On one rank, backwards through the list: all integers, so exact."""
    values, grads = [], Counter({len(graph) - 1: 1})
    for kind, i, j, _ in graph:
        values.append(
            i if kind == LEAF else values[i] + values[j] if kind == "+" else values[i] * values[j]
        )
    for place, (kind, i, j, _) in reversed([*enumerate(graph)]):
        if kind != LEAF:
            by = (1, 1) if kind == "+" else (values[j], values[i])
            grads[i] += grads[place] * by[0]
            grads[j] += grads[place] * by[1]
    return {place: grads[place] for place, node in enumerate(graph) if node[0] == LEAF}


def edges_cut(graph):
    return sum(graph[p][3] != rank for kind, i, j, rank in graph if kind != LEAF for p in (i, j))


def forward(worker, id, graph, leaves):
    """This rank's part; the root, if it is here."""
    nodes = dict(leaves)
    for place, (kind, i, j, rank) in enumerate(graph):
        if kind == LEAF:
            continue
        inputs = []
        for source in (i, j):
            if graph[source][3] == rank == worker.post.rank:
                inputs.append(nodes[source])
            elif rank == worker.post.rank:
                inputs.append(worker.receive(id, graph[source][3]))
            elif graph[source][3] == worker.post.rank:
                worker.send(id, nodes[source], rank)
        if rank == worker.post.rank:
            one, other = inputs
            nodes[place] = one + other if kind == "+" else one * other
            nodes[place].name += str(place)
    return nodes.get(len(graph) - 1)


def trained(*graphs):
    """Each graph in a context of its own, at once; leaves are shared. Their gradients, by graph and leaf."""

    def program():
        worker = across.Worker()
        leaves = {
            place: across.Node(i, name=f"x{place}")
            for place, (kind, i, _, rank) in enumerate(graphs[0])
            if kind == LEAF and rank == worker.post.rank
        }
        roots = [forward(worker, id, graph, leaves) for id, graph in enumerate(graphs)]
        for id, root in enumerate(roots):
            if root is not None:
                worker.backward(id, root)
        worker.serve()
        names = {node: place for place, node in leaves.items()}
        return [
            {names[leaf]: grad for leaf, grad in worker.context(id).grads.items() if leaf in names}
            for id in range(len(graphs))
        ]

    return program


def compare(report, *graphs):
    """All ranks' gradients together are those of one rank."""
    for id, graph in enumerate(graphs):
        found = {place: grad for result in report.results for place, grad in result[id].items()}
        expected = gradients(graph)
        for place, wanted in expected.items():
            got = found.get(place)
            where = f"in context {id} " if len(graphs) > 1 else ""
            said = "never came" if got is None else f"is {got}"
            assert got == wanted, (
                f"{where}the gradient of x{place} on rank {graph[place][3]} {said}, one rank says {wanted}; "
                f"the graph is {in_words(graph)}"
            )


def in_words(graph):
    """x0 = 3 on 0, n1 = x0 · x0 on 1"""

    def name(place):
        return f"{'x' if graph[place][0] == LEAF else 'n'}{place}"

    return ", ".join(
        f"{name(place)} = {i if kind == LEAF else f'{name(i)} {kind} {name(j)}'} on {rank}"
        for place, (kind, i, j, rank) in enumerate(graph)
    )


# ------------------------------------------------------------------------------------------ lamps


@lamp("correct")
def right():
    """A graph on paper; then random graphs cut at random places, over 1 to 4 ranks."""
    counted_on_paper()
    for ranks in (1, 2, 3, 4):
        cut_over(ranks)()


def counted_on_paper():
    """The result of `count` for a graph on one rank, a part of which has gone to another one."""
    a = across.Node(3, name="a")
    b = a * a
    b.name, c = "b", b + a
    c.name, sent = "c", across.Send(b)
    for starts, wanted, said in (
        ([c], {c: 1, b: 1, a: 3}, "count([c])"),
        ([c, sent], {c: 1, sent: 1, b: 2, a: 3}, "count([c, the send node of b])"),
    ):
        found = {node: number for node, number in dict(across.count(starts)).items() if number}
        assert found == wanted, (
            f"b = a · a, c = b + a: {said} is {found}, expected {wanted} "
            "(one for each start, and one for each edge)"
        )


def cut_over(ranks):
    @lab.learn
    @given(graphs(ranks))
    def holds(graph):
        try:
            report = sim.run(trained(graph), ranks, limit=1e4, events=10_000)
        except KeyError as error:
            if not isinstance(error.args[0], across.Node):
                raise
            raise AssertionError(
                f"a gradient comes to {error.args[0]!r}, which was not counted: is it a start, or does a start lead to it? "
                f"The graph is {in_words(graph)}"
            ) from error
        compare(report, graph)

    return holds


@lamp("any order", star=2)
def any_order():
    """All orders in which gradients can come, on two graphs over 3 ranks: the sums are the same."""
    for graph in (DIAMOND, FAN):
        found = sim.exhaust(
            trained(graph), 3, check=lambda report, g=graph: compare(report, g), most=500
        )
        if found.failure is not None:
            often = f"in {found.failures} of {found.runs} orders"
            raise AssertionError(
                f"{often}: {first_line(found.failure.error)}"
            ) from found.failure.error


@lamp("contexts", star=2)
def contexts():
    """Two passes at once, over the same leaves, with roots on different ranks: their gradients do not mix."""
    other = [*DIAMOND[:1], ("+", 0, 0, 2), ("·", 1, 0, 1)]
    for both in ((DIAMOND, other), (other, DIAMOND), (FAN, FAN)):
        found = sim.exhaust(
            trained(*both), 3, check=lambda report, b=both: compare(report, *b), most=150
        )
        if found.failure is not None:
            said = f"two contexts at once: {first_line(found.failure.error)}"
            raise AssertionError(said) from found.failure.error


def first_line(error):
    said = str(error).splitlines()[0] if str(error) else ""
    if isinstance(error, KeyError) and isinstance(error.args[0], across.Node):
        return f"a gradient comes to {said}, which was not counted"
    return said if isinstance(error, AssertionError) else f"{type(error).__name__}: {said}"


@lamp("library", star=2)
def library():
    """The library's own distributed backward, on tensors, with your count."""
    theirs, wrong = passes.engine, []

    def counted(starts):
        tasks = tasks_of(starts)
        wrong.extend(miscounted(tasks, count_edges(starts)))
        return tasks

    passes.engine = SimpleNamespace(**{**vars(theirs), "count_edges": counted})
    try:
        for size in (2, 3):
            found, wanted = sim.run(squares, size, limit=1e4).results[0]
            assert found == wanted, f"{size} workers: the gradient is {found}, expected {wanted}"
    except AssertionError:
        raise
    except Exception as error:
        said = wrong[0] if wrong else first_line(error)
        raise AssertionError(f"the library's backward fails with your count: {said}") from error
    finally:
        passes.engine = theirs


class Face:
    """A node of the library, with edges as yours have them."""

    def __init__(self, node, all):
        self.node, self.all = node, all

    @property
    def edges(self):
        return [face(edge[0], self.all) for edge in self.node.edges if edge is not None]


def face(node, all):
    if node not in all:
        all[node] = Face(node, all)
    return all[node]


def tasks_of(starts):
    """Your count, as the library's engine keeps it."""
    all = {}
    tasks = {}
    for found, awaits in across.count([face(node, all) for node, _ in starts]).items():
        tasks[found.node] = task = NodeTask(found.node)
        task.awaits = awaits
    return tasks


def miscounted(tasks, expected):
    """A sentence for each node whose number is not that of the edges and starts."""
    for node, task in expected.items():
        yours = tasks[node].awaits if node in tasks else 0
        if yours != task.awaits:
            yield (
                f"a node ({type(node).__name__}) waits for {yours} gradients, "
                f"but {task.awaits} edges and starts lead to it"
            )


def multiply(a, b):
    return a * b


def squares():
    """x goes to two workers, and stays: loss = Σ (x·x)·(x·y) + x·x."""
    rank, size, said = dist.get_rank(), dist.get_world_size(), None
    rpc.init_rpc(f"w{rank}")
    if rank == 0:
        x = torch.tensor([1.0, 2.0, -3.0], requires_grad=True)
        y = torch.tensor([2.0, 5.0, 7.0], requires_grad=True)
        with autograd.context() as id:
            one = rpc.rpc_sync("w1", multiply, (x, x))
            other = rpc.rpc_sync(size - 1, multiply, (x, y))
            autograd.backward(id, [(one * other + x * x).sum()])
            grads = autograd.get_gradients(id)
            said = [grads[x].tolist(), grads[y].tolist()], [[8.0, 64.0, 183.0], [1.0, 8.0, -27.0]]
    rpc.shutdown()
    return said


@lamp("unused", star=2)
def unused():
    """A value that was sent and never used: its sender waits for a gradient, and can say of which message."""

    def program():
        worker = across.Worker()
        if worker.post.rank == 0:
            x = across.Node(3, name="x")
            worker.send(0, x, 1)
            worker.send(0, x, 1)
        else:
            used, _ = worker.receive(0, 0), worker.receive(0, 0)
            worker.backward(0, used * used)
        worker.serve()
        return worker.context(0).unused(), worker.context(0).grads

    named, grads = sim.run(program, 2, limit=1e4).results[0]
    assert named == [(0, 2)], (
        f"the value of message 2 of rank 0 is never used, but unused() names {named}"
    )
    assert not grads, f"x waits for two gradients and got one, yet it has {[*grads.values()]}"


@lamp("messages", star=3)
def messages():
    """One gradient for each value that was sent, and no more."""
    wide = [(LEAF, 2, 0, 0), *(("+", n, n, (n + 1) % 3) for n in range(6))]
    found = sim.run(trained(wide), 3, limit=1e4).messages
    return MeasuredCost(found, 2 * edges_cut(wide), unit=" messages")


# --------------------------------------------------------------------------------------- questions


def messages_of_the_diamond():
    return sim.run(trained(DIAMOND), 3).messages


def awaited_by_x():
    x = across.Node(3)
    return across.count([across.Send(x), across.Send(x), x * x])[x]


def picture():
    """The diamond, backward: what runs where, in turn, and what crosses."""
    rows = []

    class Drawn(across.Context):
        def run(self, node, grad):
            name = node.name + (f" {node.value}" if node.name == "send" else "")
            rows.append((self.post.rank, f"{name}: {grad}", getattr(node, "src", None)))
            super().run(node, grad)

    theirs, across.Context = across.Context, Drawn
    try:
        sim.run(trained(DIAMOND), 3)
    finally:
        across.Context = theirs
    wide = 22
    lines = [
        "loss = (x·x on rank 1) · (x+x on rank 2), x = 3 on rank 0",
        "each line: node: its gradient",
        "",
    ]
    lines.append("".join(f"rank {rank}".ljust(wide) for rank in range(3)))
    for number, (rank, said, to) in enumerate(rows, 1):
        cells = [""] * 3
        cells[rank] = f"{number:2} {said}" + (f" ══► {to}" if to is not None else "")
        lines.append("".join(cell.ljust(wide) for cell in cells).rstrip())
    return "\n".join(lines)
