"""The machinery of modules, against torch: registering, walking, saving, loading, hooks, copies."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

from tests.parity.modules import agree, caught

pytestmark = pytest.mark.parity


def scale(t: Any, factor: float = 2.0) -> Any:
    """A module with a parameter and two buffers."""

    class Scale(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = t.nn.Parameter(t.full((2,), factor))
            self.register_buffer("seen", t.zeros(1))
            self.register_buffer("hidden", t.ones(1), persistent=False)
            self.register_parameter("bias", None)

        def forward(self, x: Any) -> Any:
            return x * self.weight

        def extra_repr(self) -> str:
            return f"factor={factor}"

    return Scale()


def net(t: Any) -> Any:
    """A tree: net.first, net.rest.inner, and net.again, which is net.first once more."""

    class Net(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = scale(t)
            self.rest = t.nn.Sequential(OrderedDict(inner=scale(t, 3.0), act=t.nn.Module()))
            self.again = self.first
            self.free = t.nn.Parameter(t.zeros(3))

        def forward(self, x: Any) -> Any:
            return self.rest.inner(self.first(x))

    return Net()


# ------------------------------------------------------------------------------------- registering


def test_assigning_registers_in_order_and_reassigning_moves() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        found = [list(m._parameters), list(m._modules), list(m.rest.inner._buffers)]
        m.free = None
        found.append(list(m.state_dict()))
        m.first = t.nn.Parameter(t.ones(1))  # a module becomes a parameter
        found.append([list(m._modules), [n for n, _ in m.named_parameters()]])
        m.x = t.nn.Parameter(t.ones(1))
        del m.x
        found.append(hasattr(m, "x"))
        m.rest.inner.seen = None
        found.append(list(m.state_dict()))
        m.rest.inner.hidden = t.zeros(2)
        found.append([m.rest.inner.hidden, list(m.rest.inner.state_dict())])
        m.buf = t.nn.Buffer(t.ones(2))
        m.temporary = t.nn.Buffer(t.ones(2), persistent=False)
        return found, list(m.state_dict()), [n for n, _ in m.named_buffers()]

    agree(program)


def test_what_cannot_be_assigned() -> None:
    def program(t: Any) -> Any:
        m = net(t)

        class Early(t.nn.Module):  # type: ignore[misc]
            def __init__(self, value: Any) -> None:
                self.value = value

        p = t.nn.Parameter(t.ones(1))
        return [
            caught(lambda: Early(p)),
            caught(lambda: Early(t.nn.Module())),
            caught(lambda: setattr(m, "free", t.zeros(3))),
            caught(lambda: setattr(m, "free", 3)),
            caught(lambda: setattr(m, "first", 3)),
            caught(lambda: setattr(m, "first", t.zeros(1))),
            caught(lambda: setattr(m.first, "seen", 3)),
            caught(lambda: m.nothing),
            caught(lambda: delattr(m, "nothing")),
            caught(lambda: m.register_parameter("a.b", p)),
            caught(lambda: m.register_parameter("", p)),
            caught(lambda: m.register_parameter("forward", p)),
            caught(lambda: m.register_parameter(3, p)),
            caught(lambda: m.register_parameter("q", t.zeros(1))),
            caught(lambda: m.register_parameter("q", p * 2))[0],
            caught(lambda: m.register_buffer("a.b", p)),
            caught(lambda: m.register_buffer("free", t.zeros(1))),
            caught(lambda: m.register_buffer("q", 3)),
            caught(lambda: m.add_module("a.b", m.first)),
            caught(lambda: m.add_module("", m.first)),
            caught(lambda: m.add_module("free", m.first)),
            caught(lambda: m.add_module("q", 3)),
            caught(lambda: m.add_module(3, m.first)),
            caught(lambda: t.nn.Module()(3)),
            caught(lambda: t.nn.ModuleList()(3)),
        ]

    agree(program)


def test_a_parameter_is_a_leaf_that_shares_memory() -> None:
    def program(t: Any) -> Any:
        data = t.ones(2)
        p = t.nn.Parameter(data)
        data.add_(1)
        double = p * 2
        frozen = t.nn.Parameter(data, requires_grad=False)
        return [
            p, p.is_leaf, type(double), double, frozen, t.nn.Parameter(), type(p.detach()),
            type(p.data), isinstance(p, t.Tensor), copy.deepcopy(p), type(copy.deepcopy(p)),
            pickle.loads(pickle.dumps(p)), copy.deepcopy(frozen),
            caught(lambda: t.nn.Parameter(t.zeros(1, dtype=t.int64)))[0],
        ]  # fmt: skip

    agree(program)


# ------------------------------------------------------------------------------------ walking the tree


def test_walks() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        return [
            [n for n, _ in m.named_parameters()],
            [n for n, _ in m.named_parameters(remove_duplicate=False)],
            [n for n, _ in m.named_parameters(prefix="top", recurse=False)],
            [n for n, _ in m.named_buffers()],
            [n for n, _ in m.named_modules()],
            [n for n, _ in m.named_modules(remove_duplicate=False)],
            [n for n, _ in m.named_modules(prefix="top")],
            [n for n, _ in m.named_children()],
            [len(list(w)) for w in (m.parameters(), m.buffers(), m.modules(), m.children())],
            m,
            [n for n in ("first", "free", "rest", "training") if n in dir(m)],
            m.get_submodule("rest.inner"),
            m.get_submodule("") is m,
            m.get_parameter("rest.inner.weight"),
            m.get_buffer("first.seen"),
        ]

    agree(program)


def test_paths_that_lead_nowhere() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        m.number = 3
        m.set_submodule("rest.act", t.nn.Sequential())
        m.set_submodule("more", t.nn.Sequential())
        return [
            m,
            caught(lambda: m.get_submodule("rest.nothing")),
            caught(lambda: m.get_submodule("number")),
            caught(lambda: m.get_parameter("rest.inner.seen")),
            caught(lambda: m.get_parameter("rest.inner.nothing")),
            caught(lambda: m.get_buffer("rest.inner.weight")),
            caught(lambda: m.get_buffer("nothing.weight")),
            caught(lambda: m.set_submodule("", m.first)),
            caught(lambda: m.set_submodule("rest.new", m.first, strict=True)),
            caught(lambda: m.set_submodule("number", m.first)),
        ]

    agree(program)


def test_apply_train_and_freeze() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        order: list[str] = []
        same = m.apply(lambda module: order.append(type(module).__name__)) is m
        modes = [m.training, m.eval().training, m.rest.inner.training, m.train().first.training]
        m.requires_grad_(False)
        frozen = [p.requires_grad for p in m.parameters()]
        return [order, same, modes, frozen, caught(lambda: m.train(3))]

    agree(program)


def test_conversions_keep_the_objects() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        m.register_buffer("count", t.zeros(1, dtype=t.int64))
        p, b = m.free, m.count
        m.free.grad = t.ones(3)
        steps = (
            lambda: m.double(), lambda: m.half(), lambda: m.float(), lambda: m.bfloat16(),
            lambda: m.to(t.float64), lambda: m.to(t.zeros(1)), lambda: m.to("cpu", t.float64),
            lambda: m.to(device="cpu", dtype=t.float32), lambda: m.to(None, t.float64),
            lambda: m.type(t.float32), lambda: m.cpu(), lambda: m.to("cpu", non_blocking=True),
        )  # fmt: skip
        found = [
            [step() is m, m.free is p, m.free.dtype, m.count.dtype, m.free.grad.dtype]
            for step in steps
        ]
        refused = [caught(lambda: m.to(t.int64)), caught(lambda: m.to("nowhere"))[0]]
        return found, refused, m.free.requires_grad, m.first.seen, b is m.count

    agree(program)


def test_zero_grad() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        m.free.grad = t.ones(3)
        m.zero_grad(set_to_none=False)
        zero = m.free.grad
        m.zero_grad()
        return zero, m.free.grad, m.first.weight.grad

    agree(program)


# ---------------------------------------------------------------------------------- saving and loading


def test_state_dict_refers_to_the_tensors() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        state = m.state_dict()
        kept = m.state_dict(keep_vars=True)
        m.free.data.add_(1)
        return [
            type(state), state, state["free"].requires_grad, kept["free"] is m.free,
            list(m.state_dict(prefix="top.")), dict(state._metadata),
            list(m.rest.state_dict(destination=OrderedDict(), prefix="x.")),
        ]  # fmt: skip

    agree(program)


def test_loading_copies_in_place() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        p, before = m.free, m.free._version
        state = {k: v + 1 for k, v in m.state_dict().items()}
        result = m.load_state_dict(state)
        changed = [m.free is p, m.free, m.free._version > before, repr(result), list(result)]
        m.load_state_dict(state, assign=True)
        return changed, m.free is p, m.free, type(m.free), m.state_dict()

    agree(program)


def test_keys_and_shapes_that_do_not_fit() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        state = m.state_dict()
        missing = {k: v for k, v in state.items() if k not in ("free", "first.weight")}
        extra = {**state, "more": t.zeros(1), "rest.more.x": t.zeros(1), "first.weight.y": 1}
        wrong = {**state, "free": t.zeros(4), "first.weight": t.zeros(2, 1)}
        loose = m.load_state_dict({**missing, "more": t.zeros(1)}, strict=False)
        return [
            caught(lambda: m.load_state_dict(missing)),
            caught(lambda: m.load_state_dict(extra)),
            caught(lambda: m.load_state_dict(wrong)),
            caught(lambda: m.load_state_dict(wrong, strict=False)),
            caught(lambda: m.load_state_dict({**missing, "x": t.zeros(1), "free": t.zeros(4)})),
            caught(lambda: m.load_state_dict({**state, "free": [1, 2, 3]})),
            caught(lambda: m.load_state_dict(3)),
            repr(loose), loose.missing_keys, loose.unexpected_keys, loose,
        ]  # fmt: skip

    agree(program)


def test_other_dtypes_are_converted_and_old_scalars_accepted() -> None:
    def program(t: Any) -> Any:
        m = t.nn.Module()
        m.a = t.nn.Parameter(t.zeros(()))
        m.b = t.nn.Parameter(t.zeros(2))
        m.load_state_dict({"a": t.ones(1), "b": t.ones(2, dtype=t.float64)})
        return m.state_dict()

    agree(program)


def test_extra_state() -> None:
    def program(t: Any) -> Any:
        class Counting(t.nn.Module):  # type: ignore[misc]
            count = 3

            def get_extra_state(self) -> Any:
                return {"count": self.count}

            def set_extra_state(self, state: Any) -> None:
                self.count = state["count"]

        m = t.nn.Sequential(Counting())
        state = m.state_dict()
        m[0].count = 0
        m.load_state_dict(state)
        plain = t.nn.Sequential(t.nn.Module())
        return [
            state, m[0].count, caught(lambda: m.load_state_dict({})),
            caught(lambda: plain.load_state_dict(state)),
        ]  # fmt: skip

    agree(program)


def test_state_dict_hooks() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        seen: list[Any] = []

        def post(module: Any, state: Any, prefix: str, metadata: Any) -> None:
            seen.append(("post", type(module).__name__, prefix, dict(metadata)))
            state.pop(prefix + "seen", None)

        def replace(module: Any, state: Any, prefix: str, metadata: Any) -> Any:
            state["added"] = t.zeros(1)
            return state

        def before(module: Any, state: Any, prefix: str, metadata: Any, strict: bool,
                   missing: Any, unexpected: Any, errors: Any) -> None:  # fmt: skip
            seen.append(("before", type(module).__name__, prefix, strict, list(state)))
            state[prefix + "weight"] = t.full((2,), 9.0)

        def after(module: Any, keys: Any) -> None:
            seen.append(("after", list(keys.missing_keys)))
            keys.missing_keys.clear()
            keys.unexpected_keys.clear()

        m.rest.inner.register_state_dict_pre_hook(lambda *a: seen.append(("pre", *a[1:])))
        m.rest.inner.register_state_dict_post_hook(post)
        m._register_state_dict_hook(replace)
        handle = m.rest.inner.register_load_state_dict_pre_hook(before)
        m.register_load_state_dict_post_hook(after)
        state = m.state_dict()
        m.load_state_dict(state)
        weight = m.rest.inner.weight.clone()
        handle.remove()
        m.load_state_dict(state)
        wrong = m.register_state_dict_post_hook(lambda *a: 3)
        return list(state), seen, weight, m.rest.inner.weight, caught(m.state_dict), wrong.remove()

    agree(program)


# -------------------------------------------------------------------------------------- copies, pickles


def test_deepcopy_is_independent_and_keeps_sharing() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        twin = copy.deepcopy(m)
        m.first.weight.data.add_(1)
        shallow = copy.copy(m)
        return twin, twin.first is twin.again, twin.state_dict(), shallow.first is m.first

    agree(program)


def test_an_unpicklable_attribute_hurts_only_when_pickled() -> None:
    def program(t: Any) -> Any:
        m = t.nn.Sequential(t.nn.Module())
        m.p = t.nn.Parameter(t.ones(2))
        twin = pickle.loads(pickle.dumps(m))
        m.lock = lambda: 0
        return twin, twin.p, isinstance(caught(lambda: pickle.dumps(m)), tuple), m.state_dict()

    agree(program)


# --------------------------------------------------------------------------------------- forward hooks


def test_forward_hooks_in_order() -> None:
    def program(t: Any) -> Any:
        m = scale(t)
        seen: list[str] = []
        m.register_forward_pre_hook(lambda m, args: seen.append("pre"))
        m.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
        m.register_forward_pre_hook(lambda m, args: seen.append("first"), prepend=True)
        m.register_forward_hook(lambda m, args, out: seen.append("post"))
        doubled = m.register_forward_hook(lambda m, args, out: out * 2)
        m.register_forward_hook(lambda m, args, out: seen.append("early"), prepend=True)
        with doubled:
            inside = m(t.ones(2))
        return (
            seen,
            inside,
            m(t.ones(2)),
            m.register_forward_pre_hook(lambda m, a: a[0]),
            m(t.ones(2)),
        )

    agree(lambda t: program(t)[:3])


def test_forward_hooks_with_kwargs() -> None:
    def program(t: Any) -> Any:
        class Add(t.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any, *, y: Any) -> Any:
                return x + y

        m = Add()
        m.register_forward_pre_hook(lambda m, a, k: (a, {"y": k["y"] * 10}), with_kwargs=True)
        m.register_forward_hook(lambda m, a, k, out: (out, sorted(k)), with_kwargs=True)
        found = m(t.ones(1), y=2.0)
        m.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
        return found, caught(lambda: m(t.ones(1), y=2.0))

    agree(program)


def test_always_called_hooks_run_after_an_error() -> None:
    def program(t: Any) -> Any:
        class Fails(t.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                raise ValueError("no")

        m, seen = Fails(), []
        m.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
        m.register_forward_hook(lambda m, a, out: seen.append("never"))
        m.register_forward_hook(lambda m, a, out: 1 / 0, always_call=True)
        return caught(lambda: m(1)), seen

    agree(program)


def test_global_hooks() -> None:
    def program(t: Any) -> Any:
        where = t.nn.modules.module
        seen: list[Any] = []
        handles = [
            where.register_module_forward_pre_hook(lambda m, a: seen.append(("pre", len(a)))),
            where.register_module_forward_hook(lambda m, a, out: out + 1),
            where.register_module_parameter_registration_hook(lambda m, n, p: seen.append(n)),
            where.register_module_module_registration_hook(lambda m, n, p: seen.append(n)),
            where.register_module_buffer_registration_hook(lambda m, n, p: seen.append(n)),
        ]
        try:
            out = net(t)(t.ones(2))
        finally:
            for handle in handles:
                handle.remove()
        return out, seen, net(t)(t.ones(2))

    agree(program)


# -------------------------------------------------------------------------------------- backward hooks


def two(t: Any) -> Any:
    class Two(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = t.nn.Parameter(t.full((2,), 5.0))

        def forward(self, x: Any, y: Any, label: str = "") -> Any:
            return x * self.w, y * 3, label

    return Two()


def leaf(t: Any, value: float = 1.0, grad: bool = True) -> Any:
    return t.full((2,), value).requires_grad_(grad)


def test_full_backward_hooks_see_inputs_and_outputs() -> None:
    def program(t: Any) -> Any:
        found: list[Any] = []
        for needs in ((True, True), (True, False), (False, True)):
            m = two(t)
            m.register_full_backward_hook(lambda m, gi, go: found.append(("full", gi, go)))
            m.register_full_backward_pre_hook(lambda m, go: found.append(("pre", go)))
            x, y = leaf(t, 1.0, needs[0]), leaf(t, 2.0, needs[1])
            a, b, _ = m(x, y, "text")
            (a * a).sum().backward()
            found.append([x.grad, y.grad, m.w.grad, b.requires_grad, type(a.grad_fn).__name__])
        return found

    agree(program)


def test_backward_hooks_replace_gradients() -> None:
    def program(t: Any) -> Any:
        m = scale(t)
        m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
        m.register_full_backward_hook(lambda m, gi, go: None)
        m.register_full_backward_pre_hook(lambda m, go: (go[0] + 1,))
        x = leaf(t)
        m(x).sum().backward()
        found = [x.grad, m.weight.grad]
        removed = m.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
        wrong = caught(lambda: m(x).sum().backward())
        removed.remove()
        m.register_full_backward_pre_hook(lambda m, go: (go[0], go[0]))
        return found, wrong, caught(lambda: m(x).sum().backward())

    agree(program)


def test_backward_hooks_without_inputs_that_need_gradients() -> None:
    def program(t: Any) -> Any:
        found: list[Any] = []
        m = scale(t)
        handle = m.register_full_backward_hook(lambda m, gi, go: found.append((gi, go)))
        m(leaf(t, grad=False)).sum().backward()
        handle.remove()
        m.register_full_backward_hook(lambda m, gi, go: (go[0],))
        return found, m.weight.grad, caught(lambda: m(leaf(t, grad=False)).sum().backward())

    agree(program)


def test_a_module_with_backward_hooks_must_not_write_in_place() -> None:
    def program(t: Any) -> Any:
        class Doubled(t.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                return x.mul_(2)

        m = Doubled()
        m.register_full_backward_hook(lambda m, gi, go: None)
        x = leaf(t) * 1
        before, kind = x._version, caught(lambda: m(x))[0]
        with t.no_grad():
            unrecorded = m(leaf(t))
        s = scale(t)
        s.register_full_backward_hook(lambda m, gi, go: None)
        return kind, x._version - before, unrecorded, caught(lambda: s(leaf(t)).add_(1))[0]

    agree(program)


def test_backward_hooks_and_odd_outputs() -> None:
    def program(t: Any) -> Any:
        class Dict(t.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                return {"out": x * 2}

        found: list[Any] = []
        m = Dict()
        m.register_full_backward_hook(lambda m, gi, go: found.append((gi, go)))
        x = leaf(t)
        m(x)["out"].sum().backward()
        return found, x.grad

    agree(program)


def test_global_backward_hooks() -> None:
    def program(t: Any) -> Any:
        where, found = t.nn.modules.module, []
        handles = [
            where.register_module_full_backward_pre_hook(lambda m, go: found.append(go)),
            where.register_module_full_backward_hook(lambda m, gi, go: found.append((gi, go))),
        ]
        try:
            net(t)(leaf(t)).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        return found

    agree(program)
