"""Saving and loading the state of modules, against torch, with its words for what does not fit."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from tests.parity.modules import agree, caught, net

pytestmark = pytest.mark.parity


# ---------------------------------------------------------------------------------- saving and loading


def test_state_dict_refers_to_the_tensors() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        state = m.state_dict()
        kept = m.state_dict(keep_vars=True)
        m.free.data.add_(1)
        return [
            type(state),
            state,
            state["free"].requires_grad,
            kept["free"] is m.free,
            list(m.state_dict(prefix="top.")),
            dict(state._metadata),
            list(m.rest.state_dict(destination=OrderedDict(), prefix="x.")),
        ]

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
            caught(lambda: m.load_state_dict({**state, "free": [1, 2, 3]}))[0],
            caught(lambda: m.load_state_dict(3)),
            repr(loose),
            loose.missing_keys,
            loose.unexpected_keys,
            loose,
        ]

    agree(program)


def test_other_dtypes_are_converted_and_old_scalars_accepted() -> None:
    def program(t: Any) -> Any:
        m = t.nn.Module()
        m.a = t.nn.Parameter(t.zeros(()))
        m.b = t.nn.Parameter(t.zeros(2))
        m.load_state_dict({"a": t.ones(1), "b": t.ones(2, dtype=t.float64)})
        return m.state_dict()

    agree(program)


def test_state_dict_hooks() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        seen: list[Any] = []

        def before(
            module: Any,
            state: Any,
            prefix: str,
            metadata: Any,
            strict: bool,
            missing: Any,
            unexpected: Any,
            errors: Any,
        ) -> None:
            seen.append(("before", type(module).__name__, prefix, strict, list(state)))
            state[prefix + "weight"] = t.full((2,), 9.0)

        m.rest.inner.register_state_dict_pre_hook(lambda *a: seen.append(("pre", *a[1:])))
        handle = m.rest.inner.register_load_state_dict_pre_hook(before)
        state = m.state_dict()
        m.load_state_dict(state)
        weight = m.rest.inner.weight.clone()
        handle.remove()
        m.load_state_dict(state)
        return list(state), seen, weight, m.rest.inner.weight

    agree(program)
