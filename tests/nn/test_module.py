"""Modules, without torch beside them: what is promised here beyond torch, and on simulated devices."""

from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import nn


@pytest.fixture(autouse=True)
def no_devices_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINITORCH_DIST_DEVICES", raising=False)


class Toy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.net2 = nn.Linear(10, 5)
        self.register_buffer("calls", mtd.zeros((), dtype=mtd.int64))

    def forward(self, x: Any) -> Any:
        self.calls.add_(1)
        return self.net2(self.net1(x).relu())


def test_repr_is_the_tree() -> None:
    assert repr(Toy()) == (
        "Toy(\n"
        "  (net1): Linear(in_features=10, out_features=10, bias=True)\n"
        "  (net2): Linear(in_features=10, out_features=5, bias=True)\n"
        ")"
    )


def test_one_step_of_descent_lowers_the_loss() -> None:
    m, x = Toy(), mtd.randn(20, 10)
    losses = []
    for _ in range(5):
        loss = (m(x) * m(x)).sum()
        m.zero_grad()
        loss.backward()
        for p in m.parameters():
            p.data.add_(p.grad, alpha=-1e-3)
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert m.calls.item() == 10


def test_compile_changes_nothing_and_refuses_what_would_wait_for_a_graph() -> None:
    toy = Toy()
    keys = list(toy.state_dict())
    toy.compile(disable=True)
    assert list(toy.state_dict()) == keys
    with pytest.raises(NotImplementedError, match="no graph to give to a backend"):
        toy.compile(backend=print)


def test_loading_with_assign_leaves_the_state_dict_as_it_was() -> None:
    """In torch a state_dict that was loaded with assign=True assigns ever after."""
    m, other = Toy(), Toy()
    state = other.state_dict()
    m.load_state_dict(state, assign=True)
    before = m.net1.weight
    m.load_state_dict(state)
    assert m.net1.weight is before
    assert all(set(entry) == {"version"} for entry in state._metadata.values())


def test_a_shared_parameter_is_one_parameter() -> None:
    m = Toy()
    m.net2.bias = m.net1.bias
    assert len(list(m.parameters())) == 3
    twin = copy.deepcopy(m)
    assert twin.net2.bias is twin.net1.bias
    again = pickle.loads(pickle.dumps(m))
    assert again.net2.bias is again.net1.bias
    np.testing.assert_array_equal(again.net1.weight.array, m.net1.weight.array)


def test_old_pickles_get_the_tables_they_lack() -> None:
    m = Toy()
    state = {k: v for k, v in m.__getstate__().items() if "hooks" not in k}
    bare = Toy.__new__(Toy)
    bare.__setstate__(state)
    assert bare(mtd.zeros(1, 10)).shape == (1, 5)


def test_a_deleted_module_is_freed_at_once() -> None:
    m = Toy()
    gone = weakref.ref(m.net1.weight)
    m(mtd.zeros(1, 10))
    del m
    assert gone() is None


def test_hooks_of_copies_are_their_own() -> None:
    m, seen = Toy(), []
    handle = m.register_forward_hook(lambda m, a, out: seen.append(1))
    twin = copy.deepcopy(m)
    handle.remove()
    m(mtd.zeros(1, 10))
    assert seen == []
    twin(mtd.zeros(1, 10))
    assert seen == [1]


# ---------------------------------------------------------------------------------- simulated devices


def test_a_module_moves_and_stays_the_same_objects() -> None:
    with mtd.cuda.simulated(2, "1GB"):
        m = Toy()
        weight = m.net1.weight
        m(mtd.zeros(1, 10)).sum().backward()
        assert m.to(1) is m
        assert m.net1.weight is weight
        assert {str(t.device) for t in (*m.parameters(), *m.buffers())} == {"cuda:1"}
        assert str(weight.grad.device) == "cuda:1"
        m.cuda(0)
        assert str(m.net1.weight.device) == "cuda:0"
        m(mtd.zeros(1, 10, device="cuda:0")).sum().backward()
        with pytest.raises(RuntimeError, match="same device"):
            m(mtd.zeros(1, 10))
        assert str(m.cpu().net1.weight.device) == "cpu"
        assert str(m.to_empty(device="cuda").net1.weight.device) == "cuda:0"


def test_the_ledger_knows_parameters_and_gradients() -> None:
    with mtd.cuda.simulated(1, "1GB"):
        m = Toy().to("cuda")
        numbers = sum(p.numel() for p in m.parameters())
        held = mtd.cuda.memory.book().by_category
        assert mtd.cuda.memory_allocated() == 4 * numbers + 8  # and the counter
        assert (held["parameter"], held["gradient"]) == (4 * numbers, 0)
        m(mtd.zeros(1, 10, device="cuda")).sum().backward()
        assert mtd.cuda.memory_allocated() == 8 * numbers + 8
        assert (held["parameter"], held["gradient"]) == (4 * numbers, 4 * numbers)
        m.zero_grad()
        assert mtd.cuda.memory_allocated() == 4 * numbers + 8


def test_a_parameter_remembers_its_users_attributes() -> None:
    p = nn.Parameter(mtd.ones(2))
    p.shard = 3  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(p))
    assert (type(again), again.shard, again.requires_grad) == (nn.Parameter, 3, True)
