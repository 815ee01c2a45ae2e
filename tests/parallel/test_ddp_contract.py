"""What programs rely on beside the averages: refusals, states, passes that are not reduced."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn
from minitorch_dist.tensors import ledger
from minitorch_dist.utils.checkpoint import checkpoint
from tests.parallel.models import DDP, Branches, grads, on_ranks, scalar


def x_of(rank: int) -> Any:
    return mtd.full((1, 1), float(rank + 1))


# ----------------------------------------------------------------------------- what is averaged


def test_gradients_are_the_average() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        model(x_of(rank)).sum().backward()
        return model.module.weight.grad.item()

    for size in (1, 2, 3, 5, 8):
        assert on_ranks(size, act) == [pytest.approx((size + 1) / 2)] * size


def test_values_and_buffers_are_those_of_rank_0() -> None:
    def act(rank: int, size: int, **told: Any) -> Any:
        module = nn.Sequential(scalar(10.0 + rank), nn.BatchNorm1d(1))
        module[1].running_mean.fill_(rank)
        model = DDP(module, **told)
        return (module[0].weight.item(), module[1].running_mean.item(), next(iter(model.state_dict())))

    assert on_ranks(3, act) == [(10.0, 0.0, "module.0.weight")] * 3
    kept = on_ranks(2, lambda r, s: act(r, s, init_sync=False))
    assert [found[:2] for found in kept] == [(10.0, 0.0), (11.0, 1.0)]
    own = on_ranks(2, lambda r, s: act(r, s, broadcast_buffers=False))
    assert [found[:2] for found in own] == [(10.0, 0.0), (10.0, 1.0)]


def test_buffers_are_taken_before_each_forward_and_a_graph_does_not_mind() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
        with mtd.no_grad():
            model.module[0].weight.fill_(1.0)
        first = model(mtd.arange(6.0).reshape(3, 2) + 10 * rank)
        own = model.module[1].running_mean.clone()
        second = model(mtd.arange(6.0).reshape(3, 2) + rank)  # takes rank 0's buffers first
        (first.sum() + second.sum()).backward()
        mine = model.module[1].running_mean.tolist()
        model.eval()
        model(mtd.zeros(1, 2))
        return own.tolist(), grads(model.module), mine, model.module[1].running_mean.tolist()

    (one, g0, mine, taken), (other, g1, theirs, also_taken) = on_ranks(2, act)
    assert one != other
    assert g0 == g1
    assert mine != theirs
    assert taken == also_taken == mine


def test_no_sync_adds_up_until_the_next_backward() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        w = model.module.weight
        with model.no_sync():
            model(x_of(rank)).sum().backward()
            local = w.grad.item()
        model(x_of(rank) * 10).sum().backward()
        return local, w.grad.item()

    assert on_ranks(2, act) == [(1.0, 16.5), (2.0, 16.5)]


@pytest.mark.filterwarnings("ignore:backward")
def test_no_sync_around_backward_only_warns_and_averages() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        out = model(x_of(rank)).sum()
        with warnings.catch_warnings(record=True) as seen, model.no_sync():
            warnings.simplefilter("always")
            out.backward()
        return model.module.weight.grad.item(), [str(w.message)[:30] for w in seen]

    ((value, said),) = on_ranks(1, act, quiet=False)
    assert value == 1.0
    assert said == ["backward() is called within no"]


def test_a_second_backward_is_averaged_too() -> None:  # torch: 2.5 and 3.5, silently
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        out = model(x_of(rank)).sum()
        out.backward(retain_graph=True)
        out.backward()
        return model.module.weight.grad.item()

    assert on_ranks(2, act) == [3.0, 3.0]


def test_two_forwards_and_their_backwards_in_any_order() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        a, b = model(x_of(rank)).sum(), model(x_of(rank) * 10).sum()
        b.backward()
        a.backward()
        both = model.module.weight.grad.item()
        model.zero_grad()
        (model(x_of(rank)) + model(x_of(rank) * 10)).sum().backward()
        return both, model.module.weight.grad.item()

    assert on_ranks(2, act) == [(16.5, 16.5)] * 2


def test_passes_around_ddp_and_autograd_grad_stay_local() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        model(x_of(rank)).sum().backward()
        model.zero_grad()
        model.module(x_of(rank)).sum().backward()
        (local,) = mtd.autograd.grad(model(x_of(rank)).sum(), [model.module.weight])
        return model.module.weight.grad.item(), local.item()

    assert on_ranks(2, act) == [(1.0, 1.0), (2.0, 2.0)]


def test_outputs_in_containers_and_of_unknown_kinds() -> None:
    class Odd:
        def __init__(self, value: Any) -> None:
            self.value = value

    class Net(nn.Module):
        def __init__(self, wrap: Any) -> None:
            super().__init__()
            self.inner, self.wrap = scalar(), wrap

        def forward(self, x: Any) -> Any:
            return self.wrap(self.inner(x))

    wraps = [
        (lambda y: {"a": [y]}, lambda o: o["a"][0]),
        (lambda y: (1, (y, None)), lambda o: o[1][0]),
        (Odd, lambda o: o.value),
    ]

    def act(rank: int, size: int) -> Any:
        found = []
        for wrap, take in wraps:
            model = DDP(Net(wrap))
            for _ in range(2):
                model.zero_grad()
                take(model(x_of(rank))).sum().backward()
            found.append(model.module.inner.weight.grad.item())
        return found

    assert on_ranks(2, act) == [[1.5] * 3] * 2


def test_a_penalty_on_the_parameters_outside_of_forward_counts() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(Branches())
        out = model(mtd.ones(1, 3), which="left" if False else "both")
        penalty = sum((p * p).sum() for p in model.module.right.parameters())
        (out.sum() * (rank + 1) + penalty).backward()
        return grads(model.module)

    first, second = on_ranks(2, act)
    assert first == second


# --------------------------------------------------------------------------- unused parameters


@pytest.mark.parametrize("size", [1, 2, 3])
def test_unused_parameters_are_named_in_the_same_backward(size: int) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(Branches())
        loss = model(mtd.ones(1, 3), "left").sum()
        with pytest.raises(RuntimeError) as caught:
            loss.backward()
        untouched = all(g is None for g in grads(model.module).values())
        model(mtd.ones(1, 3)).sum().backward()  # the group is as good as before
        return str(caught.value), untouched, grads(model.module)["left.bias"]

    for text, untouched, bias in on_ranks(size, act):
        for rank in range(size):
            assert f"for rank {rank}: right.weight, right.bias" in text
        assert "find_unused_parameters=True" in text
        assert untouched
        assert bias == [1.0, 1.0]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_all_ranks_hear_of_what_one_rank_does_not_use(which: int) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(Branches())
        loss = model(mtd.ones(1, 3), "left" if rank == which else "both").sum()
        with pytest.raises(RuntimeError, match=rf"rank {which}: right\.weight"):
            loss.backward()
        return all(g is None for g in grads(model.module).values())

    assert on_ranks(3, act) == [True] * 3


def test_also_later_and_nobody_keeps_a_gradient_of_its_own() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(Branches())
        model(mtd.ones(1, 3)).sum().backward()
        model.zero_grad()
        loss = model(mtd.ones(1, 3), "left" if rank == 1 else "both").sum()
        with pytest.raises(RuntimeError, match=r"rank 1: right\.weight"):
            loss.backward()
        return all(g is None for g in grads(model.module).values())

    assert on_ranks(3, act) == [True] * 3


@pytest.mark.parametrize("told", [{}, {"gradient_as_bucket_view": True}], ids=str)
def test_found_unused_parameters_count_as_zero(told: dict[str, Any]) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(Branches(), find_unused_parameters=True, **told)
        found = []
        for which in (("left", "left"), ("left", "right"), ("both", "left"), ("both", "both")):
            model.zero_grad()
            model(mtd.ones(1, 3), which[rank]).sum().backward()
            found.append((grads(model.module)["left.bias"], grads(model.module)["right.bias"]))
        return found

    first, second = on_ranks(2, act)
    one, half = [1.0, 1.0], [0.5, 0.5]
    assert first == second == [(one, None), (half, half), (one, half), (one, one)]


def test_a_static_graph_may_have_unused_parameters() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(Branches(), static_graph=True)
        found = []
        for _ in range(3):
            model.zero_grad()
            y = model(mtd.ones(1, 3) * (rank + 1), "left")
            (y.sum() + y.sum()).backward()
            found.append((grads(model.module)["left.weight"], grads(model.module)["right.bias"]))
        return found

    first, second = on_ranks(2, act)
    assert first == second == [([[3.0] * 3] * 2, None)] * 3


@pytest.mark.parametrize("static", [False, True])
def test_checkpointed_layers(static: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 1)

        def forward(self, x: Any, saves: bool) -> Any:
            if saves:
                x = checkpoint(self.a, x)
                return checkpoint(self.b, x)
            return self.b(self.a(x))

    def act(rank: int, size: int, saves: bool) -> Any:
        mtd.manual_seed(3)
        model = DDP(Net(), static_graph=static)
        for _ in range(2):
            model.zero_grad()
            x = mtd.full((1, 2), float(rank), requires_grad=True)
            model(x, saves).sum().backward()
        return grads(model.module)

    assert on_ranks(2, act, True) == on_ranks(2, act, False)


class Nested(mtd.autograd.Function):
    """A layer whose backward runs a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any, layer: Any) -> Any:
        ctx.layer = layer
        ctx.save_for_backward(x)
        return layer(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with mtd.enable_grad():
            ctx.layer(x).backward(grad)
        return x.grad, None


def test_a_backward_pass_within_the_pass_is_refused() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return Nested.apply(x, self.a)

    def act(rank: int, size: int) -> Any:
        model = DDP(Net(), find_unused_parameters=True)
        model(mtd.ones(1, 2, requires_grad=True)).sum().backward()

    assert "ready only once" in str(on_ranks(1, act)[0])


# -------------------------------------------------------------------------------------- refusals


def test_other_models_are_told_apart() -> None:
    def act(rank: int, size: int, shapes: Any) -> Any:
        DDP(nn.Sequential(*[nn.Linear(*shape, bias=False) for shape in shapes[rank]]))

    for error in on_ranks(2, act, [[(2, 3)], [(3, 2)]]):
        assert "[1]: params[0] in this process with sizes [2, 3]" in str(error)
        assert "'0.weight' with sizes [3, 2] (torch.float32) on rank 0" in str(error)
    for error in on_ranks(2, act, [[(2, 3), (3, 1)], [(2, 3)]]):
        assert "Rank 0 has 2 params, while rank 1 has inconsistent 1 params" in str(error)


@pytest.mark.parametrize(
    ("told", "kind", "text"),
    [
        ({"device_ids": [0]}, ValueError, "only work with single-device"),
        ({"device_ids": [0, 1]}, ValueError, "None or contain a single element"),
        ({"output_device": 0}, ValueError, "only work with single-device"),
        ({"mixed_precision": "float16"}, NotImplementedError, "mixed_precision is not offered"),
    ],
)
def test_what_the_constructor_refuses(told: Any, kind: type[Exception], text: str) -> None:
    def act(rank: int, size: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            DDP(scalar(), **told)

    (error,) = on_ranks(1, act, quiet=False)
    assert isinstance(error, kind)
    assert text in str(error)


def test_a_module_without_trained_parameters() -> None:
    (error,) = on_ranks(1, lambda r, s: DDP(scalar().requires_grad_(False)))
    assert str(error).startswith("DistributedDataParallel is not needed when a module doesn't have")


def test_attributes_are_those_of_the_wrapper() -> None:
    (error,) = on_ranks(1, lambda r, s: DDP(scalar()).weight)
    assert isinstance(error, AttributeError)


def test_who_has_left_the_loop_is_named() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        for _ in range(2 + rank):
            model(x_of(rank)).sum().backward()
        if rank == 0:
            dist.barrier()

    here, there = on_ranks(2, act)
    assert "rank 0 is in barrier" in str(there)
    assert isinstance(here, dist.DistError)


# ---------------------------------------------------------------------------- views, devices, types


def test_gradients_are_windows_on_the_buckets_if_asked_for() -> None:
    def act(rank: int, size: int, views: bool) -> Any:
        model = DDP(nn.Linear(2, 2), gradient_as_bucket_view=views)
        for _ in range(2):
            model.zero_grad()
            model(mtd.ones(1, 2)).sum().backward()
        w, b = model.module.weight.grad, model.module.bias.grad
        shares = np.shares_memory(w.numpy(), model.reducer.buckets[0].flat.numpy())
        try:
            b.detach_()
        except RuntimeError as error:
            return shares, "view" in str(error)
        return shares, False

    assert on_ranks(2, act, True) == [(True, True)] * 2
    assert on_ranks(2, act, False) == [(False, False)] * 2


@pytest.mark.parametrize("told", [{}, {"gradient_as_bucket_view": True}], ids=str)
def test_gradients_that_are_zeroed_in_place(told: dict[str, Any]) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar(), **told)
        found = []
        for _ in range(3):
            model.zero_grad(set_to_none=False)
            model(x_of(rank)).sum().backward()
            found.append(model.module.weight.grad.item())
        return found

    assert on_ranks(2, act) == [[1.5] * 3] * 2


def test_several_dtypes_have_buckets_of_their_own() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = scalar(), scalar().double()

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x).double())

    def act(rank: int, size: int) -> Any:
        model = DDP(Net())
        for _ in range(2):
            model.zero_grad()
            model(x_of(rank)).sum().backward()
        return grads(model.module), len(model.reducer.buckets)

    assert on_ranks(3, act) == [({"a.weight": [[4.0]], "b.weight": [[4.0]]}, 2)] * 3


def test_on_simulated_devices() -> None:
    def act(rank: int, size: int) -> Any:
        module = scalar().to(rank)
        model = DDP(module, device_ids=[rank])
        model(x_of(rank)).sum().backward()  # the input is moved
        split = nn.Sequential(scalar().to("cuda:0"), Move("cuda:1"), scalar().to("cuda:1"))
        both = DDP(split)
        both(x_of(rank).to("cuda:0")).sum().backward()
        held = ledger.snapshot(rank).by_category["communication"]
        return module.weight.grad.item(), str(module.weight.grad.device), held > 0, grads(split)

    def with_devices(rank: int, size: int) -> Any:
        with cuda.simulated(2):
            return act(rank, size)

    class Move(nn.Module):
        def __init__(self, to: str) -> None:
            super().__init__()
            self.to_device = to

        def forward(self, x: Any) -> Any:
            return x.to(self.to_device)

    found = on_ranks(2, with_devices)
    both = {"0.weight": [[3.0]], "2.weight": [[3.0]]}
    assert found == [(1.5, f"cuda:{rank}", True, both) for rank in (0, 1)]


def test_copies_and_pickles() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        model(x_of(rank)).sum().backward()
        twin = pickle.loads(pickle.dumps(model))
        twin.zero_grad()
        twin(x_of(rank)).sum().backward()
        deep = copy.deepcopy(model)
        deep.zero_grad()
        deep(x_of(rank) * 3).sum().backward()
        return [m.module.weight.grad.item() for m in (model, twin, deep)]

    assert on_ranks(2, act) == [[1.5, 1.5, 4.5]] * 2


def test_a_group_of_some_ranks() -> None:
    def act(rank: int, size: int) -> Any:
        pair = dist.new_group([0, 2])
        if rank == 1:
            return None
        model = DDP(scalar(float(rank)), process_group=pair)
        model(x_of(rank)).sum().backward()
        return model.module.weight.item(), model.module.weight.grad.item()

    assert on_ranks(3, act) == [(0.0, 2.0), None, (0.0, 2.0)]


def test_a_deleted_wrapper_lets_go_of_its_module() -> None:
    def act(rank: int, size: int) -> Any:
        module = scalar()
        for _ in range(3):
            model = DDP(module)
            model(x_of(rank)).sum().backward()
            del model
        module.zero_grad()
        module(x_of(rank)).sum().backward()
        return module.weight.grad.item()

    assert on_ranks(2, act) == [1.0, 2.0]
