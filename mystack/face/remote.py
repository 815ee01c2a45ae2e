"""The programs that use calls: lessons 22 to 25, over real wires.

rpc       calls; a reference that travels round all ranks, and is freed; a gradient that crosses all of them
server    a parameter server that waits for all workers: the digits end with the weights of one rank
"""

import math

from .. import across, calls, golden, owners, server
from . import exact
from .tensors import Tensor


def remote(here, options):
    for ask in (sum_of_squares, reference, gradient_across):
        ask(here)
        here.meeting.barrier()
    return {
        "said": f"{here.size} ranks: calls, a reference and gradients went over {options['wire']}"
    }


def square(number):
    return number * number


def sum_of_squares(here):
    calls.init_rpc(f"rank{here.rank}")
    if here.rank == 0:
        answers = [calls.rpc_async(rank, square, (rank,)) for rank in range(here.size)]
        found = [answer.wait() for answer in answers]
        assert found == [rank * rank for rank in range(here.size)], f"the squares are {found}"
        try:
            calls.rpc_sync(here.size - 1, math_error)
        except ValueError as error:
            assert str(error) == "no such number", error
        else:
            raise AssertionError("an error of the callee did not come back")
    calls.shutdown()


def math_error():
    raise ValueError("no such number")


def reference(here):
    """Rank 0's object is known to each rank in turn, each passes it on and lets go: then nobody holds it."""
    came = []

    def welcome(number):
        came.append(number)
        if here.rank + 1 < here.size:
            book.pass_on(number, here.rank + 1)
        book.drop(number)

    book = owners.Book(welcome)
    if here.rank == 0:
        welcome(book.own("an object"))
    book.serve()
    assert len(came) == 1, f"the reference came {len(came)} times"
    assert not book.leaks() and not book.owned and not book.forks, (
        f"not freed: {book.leaks() or book.forks}"
    )


def gradient_across(here):
    """Each rank multiplies what comes by its own number. The slope of the product is known."""
    worker, own = across.Worker(), across.Node(here.rank + 2)
    found = own if here.rank == 0 else worker.receive("pass", here.rank - 1) * own
    if here.rank + 1 < here.size:
        worker.send("pass", found, here.rank + 1)
    else:
        worker.backward("pass", found)
    worker.serve()
    due = math.prod(rank + 2 for rank in range(here.size)) // (here.rank + 2)
    grads = worker.context("pass").grads
    assert grads.get(own) == due, f"the gradient is {grads.get(own)}, expected {due}"


# ------------------------------------------------------------------------------ a parameter server


def train_server(here, options):
    """Rank 0 keeps the weights, the others compute. They wait for each other, so a step is one with the whole batch."""
    model, data, workers = exact.Model(), exact.digits(), here.size - 1
    optimizer = golden.SGD(model.parameters(), lr=exact.RATE, momentum=exact.MOMENTUM)

    def step(values, gradients):
        for p, *parts in zip(model.parameters(), *gradients):
            p.grad = Tensor(sum(part.array for part in parts))
        optimizer.step()

    values = [p.detach() for p in model.parameters()]
    shares = [[[k, rank, workers] for k in range(options["steps"])] for rank in range(workers)]
    server.train(values, step, gradient_of, shares, 0)
    result = exact.finished(model, data)
    return result if here.rank == 0 else None


def gradient_of(values, share):
    """On a worker: the gradients of these weights, for its part of a batch."""
    model, (step, rank, workers) = exact.Model(), share
    for p, value in zip(model.parameters(), values):
        p.detach().copy_(value)
    mine = exact.batch(exact.digits(), step).share(rank, workers)
    exact.loss(model(mine.x), mine.y).backward()
    return [p.grad for p in model.parameters()]
