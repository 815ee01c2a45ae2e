"""Which lesson's code is wrong? A small question to each, in their order: what a lesson stands on was asked before it.

python -m mystack examine --ranks 3
"""

import socket
import tempfile
from pathlib import Path

import numpy as np

from .. import (
    across,
    backwards,
    books,
    choice,
    cut,
    doubling,
    experts,
    golden,
    local_steps,
    messages,
    one_f_one_b,
    owners,
    recompute,
    sharded,
    shift,
    stages,
    stream,
    tree,
    wires,
    zero_bubble,
)
from . import distributed as dist, exact, nn, orders, remote, tensors
from .tensors import Tensor


def equal(found, expected, what):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape and (found == expected).all(), (
        f"{what} is {found.tolist()}, expected {expected.tolist()}"
    )


# ------------------------------------------------------------------------------ what one rank can answer alone


def of_books():
    x = books.Tensor(np.arange(6.0).reshape(2, 3))
    assert x.T.storage is x.storage, "a view has not the storage of its tensor"
    equal([x.T[1:].place(i, 1) for i in range(2)], [4, 5], "the places of x.T[1:, 1]")
    of_broadcasting()


def of_broadcasting():
    equal(books.broadcast_shapes((4, 2, 3), (2, 1)), [4, 2, 3], "the shape of a sum")
    equal(
        books.expanded_strides((2, 1), (8, 8), (4, 2, 3)),
        [0, 8, 0],
        "how far it is to the next number where a column is stretched",
    )
    equal(
        books.sum_to(np.ones((2, 3)), (3,)),
        [2, 2, 2],
        "the gradient of a row that was broadcast",
    )
    equal(
        books.sum_to(np.ones((2, 3)), (2, 1)),
        [[3], [3]],
        "the gradient of a column that was broadcast",
    )


def of_backwards():
    a = backwards.Tensor([3.0], requires_grad=True)
    b = a * a
    (b + b * a).sum().backward()
    equal(a.grad.array, [6 + 27], "the gradient of a² + a³ at 3")


def of_golden():
    p = nn.Parameter(Tensor([1.0, -2.0]))
    optimizer = golden.SGD([p], lr=0.5, momentum=0.5)
    for _ in range(2):
        p.grad = Tensor([1.0, 2.0])
        optimizer.step()
    equal(p.array, [-0.25, -4.5], "a parameter after two steps with momentum")


def of_messages():
    for array in (
        np.arange(6.0).reshape(2, 3).T,
        np.float64(7),
        np.zeros((0, 3)),
        np.arange(3, dtype=">i4"),
    ):
        array = np.asarray(array)
        equal(messages.decode(*messages.encode(array)), array, "an array that went as a message")


def of_stream():
    near, far = socket.socketpair()
    with near, far:
        stream.send(near, b"header", b"payload")
        found = stream.receive(far)
        assert found and tuple(map(bytes, found)) == (b"header", b"payload"), (
            f"receive returned {found}"
        )


def of_wires():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        writer, reader = wires.Writer(path), wires.Reader(path)
        for body in (b"one", b"", b"three"):
            writer.append(body)
        found = [bytes(body) for body in reader.new()]
        writer.close()
        assert found == [b"one", b"", b"three"], f"a log of three records is read as {found}"
    once = wires.Once()
    found = [once.take(number, number) for number in (1, 0, 1, 2)]
    assert found == [[], [0, 1], [], [2]], f"messages 1, 0, 1, 2 are read as {found}"


def of_tree():
    for size in (1, 2, 3, 5, 8):
        for root in range(size):
            for rank in range(size):
                above = tree.parent(rank, size, root)
                is_fit = above is None if rank == root else rank in tree.children(above, size, root)
                assert is_fit, f"{size} ranks under root {root}: the parent of {rank} is {above}"


def of_doubling():
    for size in (1, 2, 3, 5, 6, 8):
        numbers = [doubling.number_of(rank, size) for rank in range(size)]
        for rank, number in enumerate(numbers):
            assert number is None or doubling.rank_of(number, size) == rank, (
                f"{size} ranks have the numbers {numbers}"
            )


def of_choice():
    links = dist.LINKS
    assert choice.choose(8, 8, links) == "recursive_doubling", (
        "for 8 bytes the fewest rounds are the cheapest"
    )
    assert choice.choose(8, 10**9, links) in ("ring", "rabenseifner"), (
        "for a gigabyte the fewest bytes are"
    )


def of_sharded():
    shape = tensors.Size((7, 1))
    found = [sharded.shard_length(shape, size) for size in (1, 3, 8)]
    assert found == [7, 3, 1], "shards of 7 numbers"


def of_experts():
    chosen = experts.choose(Tensor([[0.0, 2.0, 1.0], [3.0, 3.0, 1.0], [1.0, 4.0, 2.0]]), 2)
    equal(chosen, [[1, 2], [0, 1], [1, 2]], "the choice of three tokens")
    most = experts.capacity(3, 2, 3, 0.75)
    assert most == 2, (
        f"3 tokens, 2 choices, 3 experts, factor 0.75: the capacity is {most}, expected 2"
    )
    found = experts.assign(chosen, 3, most)
    assert found == [[1], [0, 2], [0, 2]], f"of {chosen} the experts take {found}, two each at most"


def of_owners():
    fork = owners.Fork(0, 1, 2, 0)
    assert not owners.is_over(fork), "a fork that is wanted is over"


def of_across():
    x = across.Node(3)
    root = (x + x) * x
    assert across.count([root])[x] == 3, "x is used three times in (x + x) · x"


def of_recompute():
    """The gradients of three layers that draw random numbers, with and without a checkpoint."""

    class Noise(nn.Linear):
        def forward(self, x):
            return super().forward(x) * Tensor(np.random.randint(0, 3, x.shape))

    layers = [Noise(np.array([[1.0, -2.0], [0.0, 3.0]]), np.ones(2)) for _ in range(3)]
    found = []
    for model in (nn.Sequential(*layers), recompute.Segments(layers)):
        np.random.seed(7)
        model(Tensor(np.arange(16.0).reshape(8, 2))).sum().backward()
        found.append([*(p.grad.tolist() for p in model.parameters()), np.random.random()])
        for p in model.parameters():
            p.grad = None
    equal(found[1][0], found[0][0], "the gradient of the first weight behind a checkpoint")
    assert found[0] == found[1], (
        "with a checkpoint there are other gradients, or another random number afterwards"
    )


def of_zero_bubble():
    weight = nn.Parameter(np.array([[1.0, 2.0]]))
    product = zero_bubble.Product(weight)
    product(Tensor([[3.0]])).sum().backward()
    assert weight.grad is None or not weight.grad.array.any(), "W is computed with I"
    of_pipeline(zero_bubble.zero_bubble, (orders.F, orders.I, orders.W))


def of_local_steps():
    found = local_steps.outer_step(1.0, 2.0, 4.0, 0.5, 0.5)
    equal(found, [-2.25, 5.0], "a weight of 1 and its velocity of 2 after a change of 4")


def of_pipeline(schedule, kinds=(orders.F, orders.B)):
    for size in (1, 2, 3, 5):
        for rank in range(size):
            actions = [
                (action.kind, action.microbatch) for action in schedule(rank, orders.Pipe(size, 4))
            ]
            expected = {(kind, k) for kind in kinds for k in range(4)}
            is_whole = set(actions) == expected and len(actions) == len(expected)
            assert is_whole, (
                f"rank {rank} of {size} does not do each micro-batch once forward and once backward"
            )


ALONE = {
    "books": of_books,
    "backwards": of_backwards,
    "golden": of_golden,
    "messages": of_messages,
    "stream": of_stream,
    "tree": of_tree,
    "doubling": of_doubling,
    "choice": of_choice,
    "sharded": of_sharded,
    "owners": of_owners,
    "across": of_across,
    "experts": of_experts,
    "stages": lambda: of_pipeline(stages.gpipe),
    "one_f_one_b": lambda: of_pipeline(one_f_one_b.one_forward_one_backward),
    "wires": of_wires,
    "recompute": of_recompute,
    "zero_bubble": of_zero_bubble,
    "local_steps": of_local_steps,
}


# ------------------------------------------------------------------------------ what all ranks must answer


def of_mailboxes(here):
    """All send to all, the last tag first."""
    for tag in (1, 0):
        for rank in range(here.size):
            if rank != here.rank:
                dist.send(Tensor([here.rank + 10.0 * tag]), rank, tag)
    for tag in (0, 1):
        for rank in range(here.size):
            if rank != here.rank:
                came = tensors.zeros(1)
                dist.recv(came, rank, tag)
                equal(came.array, [rank + 10.0 * tag], f"what rank {rank} sent with tag {tag}")


def of_shift(here):
    came = shift.shift(Tensor([float(here.rank)]))
    equal(came.array, [(here.rank - 1) % here.size], "what the left neighbour gave")


def sums(here, name):
    """Labels of lesson 12: the digits of a sum say who is in it."""
    from .. import exactly_once

    for count in (0, 1, here.size + 1):
        tensor = Tensor(np.array(exactly_once.labels(here.rank, count), float))
        dist.all_reduces()[name](tensor, dist.ReduceOp.SUM)
        for element, total in enumerate(tensor.tolist()):
            digits = exactly_once.counts(int(total), here.size)
            due = count + element
            assert digits == [due] * here.size, (
                f"element {element} of {count} on rank {here.rank} {exactly_once.in_words(digits, due, count)}"
            )


def of_the_tree(here):
    for root in range(here.size):
        tensor = Tensor([here.rank + 1.0])
        tree.broadcast(tensor, root)
        equal(tensor.array, [root + 1.0], f"what rank {root} told all")
    sums(here, "binomial")


def of_the_ring(here):
    """Its all_reduce; and both halves, twice one after another, with other numbers."""
    sums(here, "ring")
    for count in (3, 1):
        whole, mine = tensors.zeros(here.size * count), tensors.zeros(count)
        own = Tensor(np.arange(count) + 10.0 * here.rank)
        dist.all_gather_into_tensor(whole, own)
        due = np.concatenate([np.arange(count) + 10.0 * rank for rank in range(here.size)])
        equal(whole.array, due, "what all ranks gave")
        dist.reduce_scatter_tensor(mine, whole * (here.rank + 1.0))
        equal(
            mine.array,
            own.array * (here.size * (here.size + 1) / 2),
            "this rank's part of a sum",
        )


def of_replicas(here, ddp):
    from .training import DDP

    model = exact.Model()
    for p in model.parameters():
        p.detach().mul_(here.rank + 1.0)
    shared, data = DDP[ddp](model), exact.digits()
    own = exact.batch(data, 0)
    whole = exact.Model()
    exact.loss(whole(own.x), own.y).backward()
    mine = own.share(here.rank, here.size)
    (exact.loss(shared(mine.x), mine.y) * here.size).backward()
    for number, (p, q) in enumerate(zip(model.parameters(), whole.parameters())):
        assert p.grad is not None and (p.grad.array == q.grad.array).all(), (
            f"the gradient of parameter {number} is not that of all samples"
        )


def same_as_one(here, how):
    """A few steps of a program of lesson 21, 26, 27 or 34, and the same without ranks."""
    from .programs import TRAINED

    orders_of = {"gpipe": "26", "1f1b": "27", "zero bubble": "34"}
    options = {"steps": 3, "every": 100, "kill": None, "schedule": orders_of.get(how)}
    found = TRAINED["pipeline" if how in orders_of else how](here, options)
    model, data = exact.Model(), exact.digits()
    optimizer = golden.SGD(model.parameters(), lr=exact.RATE, momentum=exact.MOMENTUM)
    for step in range(3):
        own = exact.batch(data, step)
        optimizer.zero_grad()
        exact.loss(model(own.x), own.y).backward()
        optimizer.step()
    expected = exact.digest(exact.weights(model))
    assert found is None or found["digest"] == expected, (
        "after 3 steps the weights are not those of one rank"
    )


def of_cut(here):
    """Whole numbers through an MLP and through attention, there and back; then the digits."""

    def linear(inputs, outputs):
        return nn.Linear(
            np.arange(inputs * outputs).reshape(outputs, inputs) % 3 - 1.0, np.ones(outputs)
        )

    wide = 2 * here.size
    numbers = np.arange(6.0 * here.size).reshape(wide, 3) % 4 - 1
    first, second, narrow = linear(3, wide), linear(wide, 3), [linear(3, wide) for _ in range(3)]
    for name, alone, block in (
        (
            "an MLP",
            lambda x: second(first(x).relu()),
            lambda in_rows: cut.MLP(cut.Columns(first), cut.Rows(second), in_rows),
        ),
        (
            "attention",
            lambda x: second(attended(*(layer(x) for layer in narrow), here.size)),
            lambda in_rows: cut.Attention(
                *map(cut.Columns, narrow), cut.Rows(second), here.size, Tensor.relu, in_rows
            ),
        ),
    ):
        whole = nn.Parameter(numbers)
        wanted = alone(whole)
        wanted.sum().backward()
        for in_rows in (False, True):
            mine = slice(2 * here.rank, 2 * here.rank + 2) if in_rows else slice(None)
            x = nn.Parameter(numbers[mine])
            found = block(in_rows)(x)
            found.sum().backward()
            equal(found.array, wanted.array[mine], f"what {name}{' in rows' * in_rows} computes")
            equal(
                x.grad.array,
                whole.grad.array[mine],
                f"the gradient before {name}{' in rows' * in_rows}",
            )
    if exact.HIDDEN % here.size == 0:
        same_as_one(here, "tensor")


def attended(query, key, value, heads):
    pairs = [slice(2 * n, 2 * n + 2) for n in range(heads)]  # of columns
    return tensors.cat([(query[:, n] @ key[:, n].T).relu() @ value[:, n] for n in pairs], 1)


def of_experts_together(here):
    """Tokens of whole numbers, more on some ranks than on others, visit two experts each."""
    count = 2 * here.size
    layers = [nn.Linear(np.eye(3)[:2] * (n + 1), np.ones(2) * n) for n in range(count)]
    router = np.arange(3.0 * count).reshape(count, 3) % 4 - 1
    inputs = [
        np.arange(3.0 * n).reshape(n, 3) % 5 - 2
        for n in ((3 * rank + 2) % 5 for rank in range(here.size))
    ]
    layer = experts.Experts(Tensor(router), layers, 2, float(count), Tensor.relu)
    found = layer(nn.Parameter(inputs[here.rank]))
    found.sum().backward()
    due, slopes = [], np.zeros(count)
    for rank, x in enumerate(inputs):
        for row, weights in zip(x, np.maximum(x @ router.T, 0)):
            best = np.argsort(-weights, kind="stable")[:2]
            slopes[best] += weights[best]
            if rank == here.rank:
                due.append(sum(weights[n] * ((n + 1) * row[:2] + n) for n in best))
    equal(found.array, np.reshape(due, (-1, 2)), "what two experts make of each token")
    for n, own in enumerate(layer.experts, 2 * here.rank):
        equal(own.bias.grad.array, [slopes[n]] * 2, f"the gradient of expert {n}'s bias")


def of_local_steps_together(here):
    """If all average after each step, that is data parallel; if they do so after two, all have the same weights."""
    data, lr = exact.digits(), 2.0**-3
    for every, momentum in ((1, 0.0), (2, 0.5)):
        mine, whole = exact.Model(), exact.Model()
        local = local_steps.DiLoCo(
            mine.parameters(), golden.SGD(mine.parameters(), lr=lr), every, 1.0, momentum
        )
        alone = golden.SGD(whole.parameters(), lr=lr)
        for step in range(2):
            batch = exact.batch(data, step)
            share = batch.share(here.rank, here.size)
            for model, own, times in ((mine, share, here.size), (whole, batch, 1)):
                for p in model.parameters():
                    p.grad = None
                (exact.loss(model(own.x), own.y) * times).backward()
            local.step()
            alone.step()
        for number, (p, q) in enumerate(zip(mine.parameters(), whole.parameters())):
            expected = q if every == 1 else p.detach().clone()
            dist.broadcast(expected.detach(), 0)
            assert (p.array == expected.array).all(), (
                f"parameter {number} differs, where all ranks average after every {every} steps"
            )


TOGETHER = {
    "mailboxes": of_mailboxes,
    "shift": of_shift,
    "neighbour": lambda here: sums(here, "neighbour"),
    "tree": of_the_tree,
    "ring": of_the_ring,
    "doubling": lambda here: (sums(here, "recursive_doubling"), sums(here, "rabenseifner")),
    "order": lambda here: sums(here, "in_order"),
    "replicas": lambda here: of_replicas(here, "17"),
    "buckets": lambda here: of_replicas(here, "18"),
    "overlap": lambda here: of_replicas(here, "19"),
    "sharded": lambda here: (same_as_one(here, "zero"), same_as_one(here, "fsdp")),
    "calls": remote.sum_of_squares,
    "owners": remote.reference,
    "across": remote.gradient_across,
    "server": lambda here: here.size == 1 or same_as_one(here, "server"),
    "stages": lambda here: same_as_one(here, "gpipe"),
    "one_f_one_b": lambda here: same_as_one(here, "1f1b"),
    "cut": of_cut,
    "experts": of_experts_together,
    "zero_bubble": lambda here: same_as_one(here, "zero bubble"),
    "local_steps": of_local_steps_together,
}


def alone():
    """Ask each lesson; yield its module, and an error or None."""
    for module, ask in ALONE.items():
        try:
            ask()
        except Exception as error:
            yield module, error
        else:
            yield module, None


def together(here, options):
    """Ask the lessons on all ranks. The first that is wrong ends it: those after it stand on it."""
    for module, ask in TOGETHER.items():
        here.own.set("asking", module)
        ask(here)
        here.meeting.barrier()
    return {}
