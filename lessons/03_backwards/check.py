"""Lesson 03: an order in which every gradient is complete before it goes on."""

import backwards
import numpy as np
from backwards import Tensor
from hypothesis import given, strategies as st

import minitorch_dist as torch
from mtd.course import MeasuredCost, lab, lamp

SHAPES = ((), (3,), (2, 1), (2, 3))
LETTERS = "abcdefghijklmnop"

# A program: operations, and which two earlier results each takes; 0 is a. And its slope at a = 3.
EXAMPLES = (
    ([("+", 0, 0)], 2),  # b = a + a
    ([("*", 0, 0)], 6),
    ([("+", 0, 0), ("+", 1, 1)], 4),
    ([("+", 0, 0), ("*", 1, 0), ("+", 2, 1), ("+", 3, 0)], 15),
    ([("*", 0, 0), ("+", 0, 0), ("+", 1, 2), ("*", 3, 1)], 162),
)
DIAMOND = EXAMPLES[-1][0]


def play(made, steps):
    """All results, of tensors or of anything else with + and *."""
    for operation, left, right in steps:
        x, y = made[left], made[right]
        made.append(x + y if operation == "+" else x * y)
    return made


def in_words(leaves, steps):
    said = [f"{name} of shape {shape}" for name, shape in zip(LETTERS, leaves) if shape]
    for name, (operation, left, right) in zip(LETTERS[len(leaves) :], steps):
        said.append(f"{name} = {LETTERS[left]} {operation.replace('*', '·')} {LETTERS[right]}")
    return "; ".join(said)


@lamp("order", star=1)
def order():
    """Each node once, and after all that bring it gradients."""
    for steps, _ in EXAMPLES:
        order_of([()], steps)
    orders_of_any()


@lamp("correct")
def right():
    """On paper first, then any graph of sums and products, in whole numbers: forward slopes are the judge."""
    parts_are_kept()
    for steps, wanted in EXAMPLES:
        a = Tensor(3.0, requires_grad=True)
        play([a], steps)[-1].backward()
        words = f"{in_words([()], steps)}, with a = 3"
        assert a.grad is not None, f"{words}: a.grad is None, expected {wanted}"
        found = a.grad.array.item()
        assert found == wanted, f"{words}: a.grad is {found:g}, expected {wanted}"
    gradients_of_any()
    shared_arrays()


def grad_of(a):
    """The gradient of one number; None if none came."""
    return None if a.grad is None else a.grad.array.item()


def same(grad):
    return grad


def shared_arrays():
    """Edges that hand on the very array that they got, as a sum may: to an inner node, and to two leaves."""
    a, b = backwards.AccumulateGrad(), backwards.AccumulateGrad()
    inner = backwards.Node("inner", (a, same), (b, same))
    gradient = np.ones(2)
    backwards.send_back(backwards.Node("root", (inner, same), (a, same)), gradient)
    words = "all edges hand on the array that they got, a gets two parts of it and b one"
    assert a.grad is not None and b.grad is not None, f"{words}: a leaf got nothing"
    found = a.grad.array.tolist(), b.grad.array.tolist()
    assert found == ([2, 2], [1, 1]) and gradient.tolist() == [1, 1], (
        f"{words}: from [1, 1] comes {found[0]} for a and {found[1]} for b, and the array itself is "
        f"{gradient.tolist()} now. Was it written into?"
    )


def parts_are_kept():
    """A part that was handed on belongs to others, too."""
    gradient = np.ones(2)
    gradient.flags.writeable = False
    leaf = backwards.AccumulateGrad()
    try:
        backwards.send_back(backwards.Node("root", (leaf, same), (leaf, same)), gradient)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise AssertionError(
            "two parts come to one node, and the second is written into the array of the first, as += does. Others may "
            "hold that array: x + y hands the same one to x and to y. Make a new array"
        ) from error


@st.composite
def programs(draw):
    """Leaves by shape, and steps: an operation, and which two earlier results it takes."""
    leaves = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    steps, count = [], len(leaves)
    for _ in range(draw(st.integers(1, 6))):
        pick = st.integers(0, count - 1)
        steps.append((draw(st.sampled_from("++*")), draw(pick), draw(pick)))
        count += 1
    return leaves, steps, draw(st.integers(0, 9))


@lab.learn
@given(programs())
def orders_of_any(drawn):
    leaves, steps, _ = drawn
    order_of(leaves, steps)


@lab.learn
@given(programs())
def gradients_of_any(drawn):
    leaves, steps, seed = drawn
    random = np.random.default_rng(seed)
    values = [random.integers(-2, 3, shape).astype(np.float64) for shape in leaves]
    made = play([Tensor(value.copy(), requires_grad=True) for value in values], steps)
    made[-1].sum().backward()
    for number, leaf in enumerate(made[: len(leaves)]):
        direction = random.integers(-2, 3, leaf.shape)
        wanted = slope(values, steps, number, direction)
        found = 0.0 if leaf.grad is None else float((leaf.grad.array * direction).sum())
        assert found == wanted, (
            f"{in_words(leaves, steps)}: {'abc'[number]} is changed by {direction.tolist()}; the sum of the "
            f"last result changes {wanted:g} times as much, and by its gradient {found:g} times"
        )


class Sloping:
    """A value, and how fast it changes: derivatives forward, one direction at a time."""

    def __init__(self, value, slope):
        self.value, self.slope = value, slope

    def __add__(self, other):
        return Sloping(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        return Sloping(
            self.value * other.value, self.slope * other.value + self.value * other.slope
        )


def slope(values, steps, changed, direction):
    start = [
        Sloping(
            value, direction * np.ones(value.shape) if number == changed else np.zeros(value.shape)
        )
        for number, value in enumerate(values)
    ]
    last = play(start, steps)[-1]
    return float(np.broadcast_to(last.slope, last.value.shape).sum())


def order_of(leaves, steps):
    made = play([Tensor(np.ones(shape), requires_grad=True) for shape in leaves], steps)
    names = {tensor.node: f"the node of {letter}" for letter, tensor in zip(LETTERS, made)}
    demand_order(made[-1].node, in_words(leaves, steps), names)


def demand_order(root, words, names):
    """Each node once, and after all that bring it gradients; `names` tells them apart."""
    expected, place = backwards.awaited(root), {}
    for number, node in enumerate(backwards.in_order(root), 1):
        name = names.get(node, repr(node))
        assert node in expected, f"{words}: in_order gives {name}, which is on no way back"
        assert node not in place, (
            f"{words}: in_order gives {name} twice, as number {place[node]} and as number {number}"
        )
        place[node] = number
    for node in expected:
        assert node in place, f"{words}: in_order leaves out {names[node]}"
    for node in expected:
        for following in backwards.next_nodes(node):
            assert place[node] < place[following], (
                f"{words}: in_order gives {names[following]} as number {place[following]}, before {names[node]}, "
                f"number {place[node]}, has brought it its part"
            )


@lamp("deep", star=2)
def deep():
    """A chain of 5,000 operations: as long as a recurrent network gets, and longer than Python's stack."""
    a = x = Tensor(1.0, requires_grad=True)
    for _ in range(5000):
        x = x + a
    try:
        x.backward()
    except RecursionError as error:
        raise AssertionError(
            f"5,000 sums one after the other: {error}. Use a loop and a list"
        ) from error
    assert grad_of(a) == 5001, f"a added up 5,001 times: a.grad is {grad_of(a)}, expected 5001"


@lamp("plugged in", star=2)
def plugged_in():
    """Your order, on the library's graph of a small network; None stands for an input that wants no gradient."""
    x, target = torch.ones(4, 2), torch.zeros(4, 1)
    w1, b1 = torch.ones(2, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    w2 = torch.ones(3, 1, requires_grad=True)
    hidden = (x @ w1 + b1).relu()
    error = (hidden + hidden * 0.5) @ w2 - target
    root = (error * error).sum().grad_fn
    names = {node: f"{node.name()} {n}" for n, node in enumerate(backwards.awaited(root), 1)}
    demand_order(root, "(hidden + hidden / 2) @ w2 - target, in the library", names)


@lamp("cheap")
def cheap():
    """A ladder of 12 steps b = b + b has 4,096 paths from top to bottom, and 13 nodes."""
    looks, before = [], backwards.Node.next_functions

    def counted(node):
        looks.append(node)
        return before.fget(node)

    a = b = Tensor(1.0, requires_grad=True)
    for _ in range(12):
        b = b + b
    calls = [0]
    for node in backwards.awaited(b.node):
        node.edges = tuple((following, counting(vjp, calls)) for following, vjp in node.edges)
    backwards.Node.next_functions = property(counted)
    try:
        b.backward()
    finally:
        backwards.Node.next_functions = before
    assert grad_of(a) == 4096, f"a.grad is {grad_of(a)}, expected 4096"
    where = "12 times b = b + b, looks at nodes and at edges"
    return MeasuredCost(len(looks) + calls[0], 2 * 13 + 24, 2.0, where=where)


def counting(vjp, calls):
    def counted(grad):
        calls[0] += 1
        return vjp(grad)

    return counted


def gradient_of_twice():
    a = Tensor(3.0, requires_grad=True)
    play([a], EXAMPLES[2][0])[-1].backward()
    return a.grad.array.item()


def nodes_of_the_diamond():
    return len(backwards.awaited(play([Tensor(3.0, requires_grad=True)], DIAMOND)[-1].node))


def picture():
    """The diamond, in your order, and what goes wrong if each node is read when it is first met."""
    made = play([Tensor(3.0, requires_grad=True)], DIAMOND)
    root, letters = made[-1].node, dict(zip((tensor.node for tensor in made), LETTERS))
    values = {tensor.node: tensor.array.item() for tensor in made}
    lines = [f"{in_words([()], DIAMOND)}, with a = 3", ""]
    complete = completed(root)
    for title, order in (
        ("in your order", backwards.in_order(root)),
        ("as first met", first_met(root)),
    ):
        lines += [f"{title:<14}{'data':>6}{'grad':>7}   goes on to"]
        grads = {root: 1.0}
        for number, node in enumerate(order, 1):
            grad, onward = grads.get(node, 0.0), []
            for following, vjp in node.edges:
                part = float(vjp(np.float64(grad)))
                grads[following] = grads.get(following, 0.0) + part
                onward.append(f"{letters[following]}: {part:g}")
            late = "" if grad == complete[node] else f"   ({complete[node]:g} when complete!)"
            line = f"{number:>4}. {letters[node]:<8}{values[node]:>6g}{grad:>7g}   {', '.join(onward)}{late}"
            lines.append(line.rstrip())
        lines.append("")
    return "\n".join(lines[:-1])


def completed(root):
    """Each node's gradient when all its parts have come, whatever order is yours."""
    grads, awaits, ready = {root: 1.0}, backwards.awaited(root), [root]
    for node in ready:  # which grows meanwhile
        for following, vjp in node.edges:
            grads[following] = grads.get(following, 0.0) + float(vjp(np.float64(grads[node])))
            awaits[following] -= 1
            if awaits[following] == 0:
                ready.append(following)
    return grads


def first_met(root):
    """Depth first, each node when it is first met."""
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if node not in order:
            order.append(node)
            waiting += reversed(backwards.next_nodes(node))
    return order
