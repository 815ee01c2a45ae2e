"""Backward across ranks: each has its part of the
graph, and finds out by itself when a node may run.

             rank 0                                  rank 1
  forward    x ──► send ═══════ value 7 ═══════════► recv ──► · ──┐
             loss ◄── + ◄── recv ◄═════ value 8 ════ send ◄───────┘

  backward   loss ──► + ──► recv ═══ gradient 8 ═══► send ──► · ──┐
             x ◄── send ◄═════════ gradient 7 ══════ recv ◄───────┘

The number of a message is all that links the two graphs. Nodes hold one number here; in the library
they hold tensors: minitorch_dist/distributed/autograd/passes.py, whose `count_edges` yours can be.
"""

from collections import defaultdict, deque

from .face.post import MessageBox

VALUE, GRADIENT = "value", "gradient"
QUIET = 40.0  # seconds without a message: no rank has work any more


class Node:
    """A number, and of which numbers it was made. `slopes`: how much it grows with each of them."""

    def __init__(self, value, edges=(), slopes=(), name=""):
        self.value, self.edges, self.slopes, self.name = value, edges, slopes, name

    def __repr__(self):
        return f"<{self.name} = {self.value}>"

    def __add__(self, other):
        return Node(self.value + other.value, (self, other), (1, 1), "+")

    def __mul__(self, other):
        return Node(self.value * other.value, (self, other), (other.value, self.value), "·")


class Send(Node):
    """The end of a graph on this rank: a value that has gone to another one."""

    def __init__(self, node):
        super().__init__(node.value, (node,), (1,), "send")


class Recv(Node):
    """The beginning of one: a value that has come."""

    def __init__(self, value, src, message):
        super().__init__(value, name="recv")
        self.src, self.message = src, message


def count(starts):
    """How many gradients each node waits for: one for
    each edge that leads to it, and one for each start.
    """
    awaits = {}
    stack = list(starts)
    while stack:
        node = stack.pop()
        if node not in awaits:
            awaits[node] = 0
            stack += node.edges
        awaits[node] += 1
    return awaits


class Context:
    """One forward and backward pass, as one rank sees it. Several may be under way."""

    def __init__(self, id, post):
        self.id, self.post = id, post
        self.sends = {}  # by message: what went out from here
        self.values = defaultdict(deque)  # by rank: what came and was not asked for yet
        self.awaits = None  # by node: how many gradients are still to come; None before the first
        self.sums = defaultdict(int)  # by node: those that have come
        self.grads = {}  # by leaf
        self.order = []  # of the nodes that ran

    def begin(self, roots=()):
        """Backward comes to this rank: by a root, or by the first gradient of a message."""
        if self.awaits is None:
            self.awaits = count([*roots, *self.sends.values()])

    def arrive(self, node, grad):
        """One of the gradients that `node` waits for."""
        self.sums[node] += grad
        self.awaits[node] -= 1
        if not self.awaits[node]:
            self.run(node, self.sums[node])

    def run(self, node, grad):
        """All is there: hand it on to what the node was made of, on this rank or another."""
        self.order.append(node)
        if isinstance(node, Recv):
            self.post.send(node.src, (GRADIENT, self.id, node.message, grad))
        elif not node.edges:
            self.grads[node] = grad
        for edge, slope in zip(node.edges, node.slopes):
            self.arrive(edge, slope * grad)

    def unused(self):
        """Messages from here whose gradient has not come."""
        ran = set(self.order)
        return [message for message, send in self.sends.items() if send not in ran]


class Worker:
    """One rank's part in all contexts."""

    def __init__(self):
        self.post, self.contexts, self.sent = MessageBox(), {}, 0

    def context(self, id):
        """The context with this number, which may be heard of for the first time."""
        if id not in self.contexts:
            self.contexts[id] = Context(id, self.post)
        return self.contexts[id]

    def send(self, id, node, to):
        """A value goes to another rank. We remember where its gradient belongs."""
        self.sent += 1
        message = self.post.rank, self.sent
        self.context(id).sends[message] = Send(node)
        self.post.send(to, (VALUE, id, message, node.value))

    def receive(self, id, src):
        """The next value from a rank, as a node of our graph."""
        values = self.context(id).values[src]
        while not values:
            self.take()
        message, value = values.popleft()
        return Recv(value, src, message)

    def backward(self, id, root):
        """Send the gradient of `root` back, through this rank and all others.

        (`serve` carries on.)
        """
        context = self.context(id)
        context.begin([root])
        context.arrive(root, 1)

    def take(self, seconds=None):
        """Do what the next message says; whether one came."""
        came = self.post.receive(seconds)
        if came is None:
            return False
        src, (kind, id, message, number) = came
        context = self.context(id)
        if kind == VALUE:
            context.values[src].append((message, number))
        else:
            context.begin()
            context.arrive(context.sends[message], number)
        return True

    def serve(self):
        """Until no rank has work any more."""
        while self.take(QUIET):
            pass
        self.post.leave()
