"""Gradients: each operation leaves a note of how to go
back, and `backward` reads the notes in the right order.

a ────▶ b = a + a ────▶ c = b + b        forward: numbers; each result remembers a node
a ◀━━━━ AddBackward0 ◀━━━━ AddBackward0  backward: gradients. From c to b lead two edges,
  ◀━━━━              ◀━━━━               and b's node is read once, when both have brought
                                         their parts
"""

from . import books
import numpy as np
from .books import sum_to


class Node:
    """A note that an operation left: where gradients go
    on, and how each is made of the result's gradient.

    An edge is a pair of the next node and a function that turns the
    gradient of this node's result into that of one of its inputs. (It
    is called vjp: it multiplies a vector by a matrix of derivatives.)
    """

    def __init__(self, name, *edges):
        self.name = name
        self.edges = edges

    @property
    def next_functions(self):  # as torch has it
        return tuple((node, 0) for node, _ in self.edges)

    def __repr__(self):
        return f"<{self.name}>"


class AccumulateGrad(Node):
    """Where a way back ends: at a tensor that was not computed. It keeps what arrives."""

    def __init__(self):
        super().__init__("AccumulateGrad")
        self.grad = None

    def collect(self, grad):
        total = grad if self.grad is None else self.grad.array + grad
        self.grad = Tensor(total, "gradient")


class Tensor(books.Tensor):
    """A tensor that knows how it was made, if somebody wants gradients (`requires_grad=True`)."""

    def __init__(self, data, category="activation", storage=None, requires_grad=False):
        super().__init__(data, "parameter" if requires_grad else category, storage)
        self.node = AccumulateGrad() if requires_grad else None

    @property
    def grad(self):
        return self.node.grad if isinstance(self.node, AccumulateGrad) else None

    def window(self, array):
        raise TypeError("views leave no nodes here; in the library they do")

    def backward(self):
        """Add to `grad` of all tensors this one was made
        of: how it changes when they change a little.
        """
        send_back(self.node, np.ones(self.shape))

    def __add__(self, other):
        a, b = self.shape, other.shape
        result = self.array + other.array
        return record(
            result, "AddBackward0", (self, lambda g: sum_to(g, a)), (other, lambda g: sum_to(g, b))
        )

    def __mul__(self, other):
        x, y = self.array, other.array
        to_x, to_y = lambda g: sum_to(g * y, x.shape), lambda g: sum_to(g * x, y.shape)
        return record(x * y, "MulBackward0", (self, to_x), (other, to_y))

    def __matmul__(self, other):
        x, y = self.array, other.array
        return record(x @ y, "MmBackward0", (self, lambda g: g @ y.T), (other, lambda g: x.T @ g))

    def relu(self):
        positive = self.array > 0
        return record(self.array * positive, "ReluBackward0", (self, lambda g: g * positive))

    def sum(self):
        shape = self.shape
        return record(self.array.sum(), "SumBackward0", (self, lambda g: np.broadcast_to(g, shape)))


def record(array, name, *inputs):
    """A result, with a note of how to go back to those of its inputs that want a gradient."""
    result = Tensor(array)
    edges = [(tensor.node, vjp) for tensor, vjp in inputs if tensor.node is not None]
    if edges:
        result.node = Node(name, *edges)
    return result


def next_nodes(node):
    """The nodes to which a node's gradients go: one may stand there twice, as for a + a."""
    return [following for following, _ in node.next_functions if following is not None]


def awaited(root):
    """For each node on the paths back from `root`: how many edges bring gradients to it."""
    counts, found = {root: 0}, [root]
    for node in found:  # which grows meanwhile
        for following in next_nodes(node):
            if following not in counts:
                counts[following] = 0
                found.append(following)
            counts[following] += 1
    return counts


def in_order(root):
    """The nodes on all paths back from `root`, each
    once, and after all those that bring it gradients.
    """
    awaits = awaited(root)
    order, ready = [], [root]
    while ready:
        node = ready.pop()
        order.append(node)
        for following in next_nodes(node):
            awaits[following] -= 1
            if awaits[following] == 0:
                ready.append(following)
    return order


def send_back(root, gradient):
    """From a result back to all that it was made of."""
    grads = {root: gradient}  # what has arrived so far, by node
    for node in in_order(root):
        grad = grads.pop(node)
        if isinstance(node, AccumulateGrad):
            node.collect(grad)
        for following, vjp in node.edges:
            part = vjp(grad)
            grads[following] = grads[following] + part if following in grads else part
