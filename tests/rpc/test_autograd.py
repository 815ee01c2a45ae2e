"""Gradients over several workers are those of one process; nothing hangs; nothing stays behind."""

from __future__ import annotations

import gc
import random
import threading
import tracemalloc
import weakref
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import autograd, rpc, world
from minitorch_dist.distributed.autograd.contexts import contexts_of
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import current
from tests.deep import seeds
from tests.rpc import worlds
from tests.rpc.worlds import run, same


def mul(a: Any, b: Any) -> Any:
    return a * b


def through(x: Any, *way: str) -> Any:
    """x, through one worker after the other and back, doubled by each."""
    return rpc.rpc_sync(way[0], through, (2 * x, *way[1:])) if way else 2 * x


def contexts() -> int:
    return len(contexts_of(current()).known)


def no_contexts(size: int) -> None:
    for worker in range(size):
        for _ in range(1000):
            if rpc.rpc_sync(worker, contexts) == 0:
                break
        assert rpc.rpc_sync(worker, contexts) == 0


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_a_product_on_another_worker(transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        x = mtd.tensor([1.0, 2.0], requires_grad=True)
        y = mtd.tensor([3.0, 4.0], requires_grad=True)
        with autograd.context() as context_id:
            z = rpc.rpc_sync("w1", mul, (x, y))
            assert z.grad_fn is not None and z.grad_fn.name() == "RecvRpcBackward"
            autograd.backward(context_id, [(z * x).sum()])
            grads = autograd.get_gradients(context_id)
            assert set(grads) == {x, y}
            assert grads[x].tolist() == [6.0, 16.0] and grads[y].tolist() == [1.0, 4.0]
            assert x.grad is None
        no_contexts(2)

    run(program, 2, transport)


@pytest.mark.parametrize("transport", worlds.THREADS)
@pytest.mark.parametrize("way", [("w1",), ("w1", "w2"), ("w1", "w0", "w1"), ("w0",), ("w2", "w2", "w1")])
def test_long_ways(way: tuple[str, ...], transport: str) -> None:
    def program(rank: int) -> None:
        if rank == 0:
            x = mtd.ones(2, requires_grad=True)
            with autograd.context() as context_id:
                y = through(x, *way)
                autograd.backward(context_id, [y.sum(), (3 * y).sum()])
                expected = 4.0 * 2 ** (len(way) + 1)
                assert autograd.get_gradients(context_id)[x].tolist() == [expected] * 2
            no_contexts(3)

    run(program, 3, transport, threads=1)


def test_retain_graph_adds_up_and_without_it_the_graph_is_gone() -> None:
    def program(rank: int) -> None:
        if rank == 0:
            x = mtd.ones(2, requires_grad=True)
            with autograd.context() as context_id:
                loss = rpc.rpc_sync("w1", mul, (x, x)).sum()
                autograd.backward(context_id, [loss], retain_graph=True)
                autograd.backward(context_id, [loss])
                assert autograd.get_gradients(context_id)[x].tolist() == [4.0, 4.0]
                with pytest.raises(RuntimeError, match="second time"):
                    autograd.backward(context_id, [loss])

    run(program, 2)


def test_wrong_roots_and_contexts() -> None:
    def program(rank: int) -> None:
        if rank:
            return
        x = mtd.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="Could not find autograd context with id: 12345"):
            autograd.backward(12345, [x.sum()])
        with pytest.raises(RuntimeError, match="Could not find autograd context"):
            autograd.get_gradients(12345)
        with autograd.context() as context_id:
            with pytest.raises(RuntimeError, match=r"roots are scalars that require grad, but one of shape \[2\]"):
                autograd.backward(context_id, [x])
            with pytest.raises(RuntimeError, match="has requires_grad=False"):
                autograd.backward(context_id, [mtd.ones(())])
            with pytest.raises(RuntimeError, match="No tensors provided"):
                autograd.backward(context_id, [])
            with pytest.raises(RuntimeError, match="Already have an autograd context id"):
                autograd.context().__enter__()

    run(program, 2)


# ----------------------------------------------------------------------------- random graphs, cut


def cut(size: int, seed: int, depth: int, leaves: list[Any], here: int) -> Any:
    """A random expression; each operation runs on a random worker."""
    chance = random.Random(seed)
    if depth == 0:
        return leaves[chance.randrange(len(leaves))]
    left = cut(size, 2 * seed + 1, depth - 1, leaves, here)
    right = cut(size, 2 * seed + 2, depth - chance.choice([1, depth]), leaves, here)
    operation = chance.choice([mtd.add, mul, mtd.maximum, mtd.matmul, weighted])
    to = chance.randrange(size)
    if size == 1 or to == here:
        return operation(left, right)
    return rpc.rpc_sync(to, operation, (left, right))


def weighted(a: Any, b: Any) -> Any:
    return a * 0.5 - b.t()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", seeds(8))
def test_random_graphs_cut_at_random_places(seed: int, size: int) -> None:
    """The same graph in one process has the same gradients, to the last bit."""

    def values() -> list[Any]:
        mtd.manual_seed(seed)
        numbers = [mtd.randint(-1, 2, (3, 3)).double() for _ in range(3)]  # all sums are exact
        return [number.requires_grad_() for number in numbers]

    def program(rank: int) -> None:
        if rank:
            return
        leaves, twins = values(), values()
        with autograd.context() as context_id:
            root = cut(size, seed, 5, leaves, 0).sum()
            alone = cut_alone(size, seed, 5, twins, 0).sum()
            autograd.backward(context_id, [root])
            alone.backward()
            found = autograd.get_gradients(context_id)
            assert root.item() == alone.item()
            for leaf, twin in zip(leaves, twins, strict=True):
                if twin.grad is None:
                    assert leaf not in found
                else:
                    assert mtd.equal(found[leaf], twin.grad)

    run(program, size, "sim://")


def cut_alone(size: int, seed: int, depth: int, leaves: list[Any], here: int) -> Any:
    chance = random.Random(seed)
    if depth == 0:
        return leaves[chance.randrange(len(leaves))]
    left = cut_alone(size, 2 * seed + 1, depth - 1, leaves, here)
    right = cut_alone(size, 2 * seed + 2, depth - chance.choice([1, depth]), leaves, here)
    operation = chance.choice([mtd.add, mul, mtd.maximum, mtd.matmul, weighted])
    chance.randrange(size)
    return operation(left, right)


# --------------------------------------------------------------------------- references and modules


class Layer(mtd.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        mtd.manual_seed(1)
        self.linear = mtd.nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()


def gradient_of(rref: Any, context_id: int) -> Any:
    return autograd.get_gradients(context_id)[rref.local_value().linear.weight]


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_a_remote_layer(transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        layer, twin = rpc.remote("w1", Layer), Layer()
        mtd.manual_seed(2)
        x = mtd.randn(5, 4)
        (twin(x) ** 2).sum().backward()
        with autograd.context() as context_id:
            y = layer.rpc_sync().forward(x)
            autograd.backward(context_id, [(y**2).sum()])
            assert mtd.equal(rpc.rpc_sync("w1", gradient_of, (layer, context_id)), twin.linear.weight.grad)

    run(program, 2, transport)


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_what_to_here_fetches_has_a_history(transport: str) -> None:
    def program(rank: int) -> None:
        if rank == 0:
            x = mtd.ones(3, requires_grad=True)
            with autograd.context() as context_id:
                z = rpc.remote("w1", mul, (x, 2 * x)).to_here()
                autograd.backward(context_id, [z.sum()])
                assert autograd.get_gradients(context_id)[x].tolist() == [4.0] * 3

    run(program, 2, transport)


def test_several_contexts_at_once() -> None:
    def program(rank: int) -> None:
        results: dict[int, float] = {}
        place = world.place()

        def one(number: int) -> None:
            with world.StandingIn(place):
                x = mtd.ones(2, requires_grad=True)
                with autograd.context() as context_id:
                    y = rpc.rpc_sync((rank + 1) % 3, mul, (x, float(number)))
                    autograd.backward(context_id, [y.sum()])
                    results[number] = autograd.get_gradients(context_id)[x][0].item()

        threads = [threading.Thread(target=one, args=(n,)) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {n: float(n) for n in range(5)}

    run(program, 3)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_nobody_is_asked_when_every_message_got_its_gradients(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of a backward pass say it of workers that the root knows, and of all others."""
    questions: list[int] = []
    answer = serve.HANDLERS[serve.UNUSED]

    def counted(agent: Any, src: int, asked: Any) -> Any:
        questions.append(agent.me.id)
        return answer(agent, src, asked)

    monkeypatch.setitem(serve.HANDLERS, serve.UNUSED, counted)

    def program(rank: int) -> None:
        if rank == 0:
            x = mtd.ones(2, requires_grad=True)
            way = [f"w{other}" for other in range(1, size)]
            with autograd.context() as context_id:
                autograd.backward(context_id, [through(x, *way, *way).sum()])
            assert not questions
            with autograd.context() as context_id:
                loss = through(x, *way).sum()
                rpc.rpc_sync(way[-1], same, (x,))
                with pytest.raises(RuntimeError, match="can never finish"):
                    autograd.backward(context_id, [loss])
            assert questions == [size - 1]

    run(program, size)


# ------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_a_call_that_does_not_lead_to_the_loss_is_named(transport: str) -> None:
    """torch waits for ever."""

    def program(rank: int) -> None:
        if rank == 0:
            x = mtd.ones(2, requires_grad=True)
            with autograd.context() as context_id:
                rpc.rpc_sync("w1", same, (x,))
                z = rpc.rpc_sync("w2", same, (x,))
                with pytest.raises(RuntimeError, match="can never finish") as caught:
                    autograd.backward(context_id, [z.sum()])
            text = str(caught.value)
            assert "on 'w0': the arguments of a call to 'w1' at test_autograd.py" in text
            assert "on 'w1': the answer to a call that 'w0' made to 'w1'" in text
            assert "'w2'" not in text
            no_contexts(3)
            with autograd.context() as context_id:
                with mtd.no_grad():
                    rpc.rpc_sync("w1", same, (x,))
                autograd.backward(context_id, [rpc.rpc_sync("w2", same, (x,)).sum()])

    run(program, 3, transport)


class Explodes(mtd.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise ValueError("simulated error on backward")


def explode(x: Any) -> Any:
    return Explodes.apply(x)


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_an_error_in_the_backward_of_another_worker(transport: str) -> None:
    def program(rank: int) -> None:
        if rank == 0:
            x = mtd.ones(2, requires_grad=True)
            with autograd.context() as context_id:
                y = rpc.rpc_sync("w1", explode, (rpc.rpc_sync("w2", same, (x,)),))
                with pytest.raises(ValueError, match="simulated error") as caught:
                    autograd.backward(context_id, [y.sum()])
                assert any("Error on Node 1" in note for note in notes_of(caught.value))
                with pytest.raises(ValueError, match="simulated error"):
                    autograd.get_gradients(context_id)

    run(program, 3, transport)


def notes_of(error: BaseException) -> list[str]:
    return [*getattr(error, "__notes__", []), str(error.__cause__)]


def test_a_worker_that_dies_fails_the_context_everywhere() -> None:
    ready, gone = threading.Event(), threading.Event()

    def worker() -> None:
        rank = world.current().rank
        rpc.init_rpc(f"w{rank}")
        if rank == 0:
            x = mtd.ones(2, requires_grad=True)
            with autograd.context() as context_id:
                y = through(x, "w1", "w2")
                ready.set()
                gone.wait(30)
                with pytest.raises(rpc.WorkerLost, match="'w2'"):
                    autograd.backward(context_id, [y.sum()])
                with pytest.raises(rpc.WorkerLost):
                    rpc.rpc_sync("w1", same, (x,))
        elif rank == 1:
            gone.wait(30)
            finished.wait(30)
        else:
            ready.wait(30)
        rpc.shutdown(graceful=False)
        gone.set()
        if rank == 0:
            finished.set()

    finished = threading.Event()
    mtd.launch(worker, 3)


@rpc.functions.async_execution
def never() -> Any:
    return mtd.futures.Future()


def wait_for_w2(x: Any) -> Any:
    return x * rpc.rpc_sync("w2", never)


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_a_call_that_is_cut_off_in_a_context_ends_quietly(transport: str, capfd: Any) -> None:
    """Its worker is gone when it fails: there is nobody left to answer."""

    def program(rank: int) -> None:
        if rank == 0:
            with autograd.context():
                rpc.rpc_async("w1", wait_for_w2, (mtd.ones(1, requires_grad=True),))
                rpc.rpc_sync("w1", worlds.add, (1,))
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(program, 3, transport)
    assert "RPC has not been initialized" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_what_a_context_holds_is_freed_when_it_ends(transport: str) -> None:
    """At once, not when Python next looks for cycles: a step's activations are large."""
    kept: list[Any] = []

    def program(rank: int) -> None:
        if rank:
            return
        for _ in range(3):
            with autograd.context() as context_id:
                x = mtd.ones(3, requires_grad=True)
                held = x * 2
                kept.append(weakref.ref(held.grad_fn))
                loss = rpc.rpc_sync("w1", worlds.add, (held, 1)).sum()
                autograd.backward(context_id, [loss])
            del held, loss, x

    gc.disable()
    try:
        run(program, 2, transport)
        assert [ref() for ref in kept] == [None] * 3
    finally:
        gc.enable()


def test_a_gradient_is_freed_once_it_was_used() -> None:
    """A chain of fifty steps needs room for a few gradients, and not for fifty."""

    def program(rank: int) -> None:
        x = mtd.ones(1 << 16, requires_grad=True)
        with autograd.context() as context_id:
            y = x
            for _ in range(50):
                y = y * 1.0
            loss = y.sum()
            tracemalloc.start()
            autograd.backward(context_id, [loss])
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert most < 6 * x.array.nbytes

    run(program, 1)


def test_a_gradient_that_a_hook_has_seen_is_not_the_contexts_own() -> None:
    def program(rank: int) -> None:
        x, kept = mtd.ones(3, requires_grad=True), []
        x.register_hook(lambda grad: kept.append(grad))
        with autograd.context() as context_id:
            autograd.backward(context_id, [(x * 2.0).sum()])
            kept[0].zero_()
            assert autograd.get_gradients(context_id)[x].tolist() == [2.0] * 3

    run(program, 1)
