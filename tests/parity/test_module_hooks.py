"""Hooks of modules, against torch."""

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
        return (seen, inside, m(t.ones(2)), m.register_forward_pre_hook(lambda m, a: a[0]), m(t.ones(2)))

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
