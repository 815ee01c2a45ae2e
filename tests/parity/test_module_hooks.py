"""Forward and backward hooks of modules, against torch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.modules import agree, caught, net, scale

pytestmark = pytest.mark.parity


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
        return m(t.ones(1), y=2.0)

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
        x = leaf(t)
        m(x).sum().backward()
        found = [x.grad, m.weight.grad]
        m.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
        return found, caught(lambda: m(x).sum().backward())

    agree(program)


def test_backward_hooks_without_inputs_that_need_gradients() -> None:
    def program(t: Any) -> Any:
        found: list[Any] = []
        m = scale(t)
        m.register_full_backward_hook(lambda m, gi, go: found.append((gi, go)))
        m(leaf(t, grad=False)).sum().backward()
        return found, m.weight.grad

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
