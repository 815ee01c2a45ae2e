"""Sequential, ModuleList, ModuleDict and ParameterList, against torch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.modules import agree, caught, kind_of_error

pytestmark = pytest.mark.parity


def layer(t: Any, number: int) -> Any:
    class Add(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x + number

        def extra_repr(self) -> str:
            return str(number)

    return Add()


def four(t: Any) -> list[Any]:
    return [layer(t, n) for n in (1, 2, 2, 3)]


SEQUENTIAL: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda t, s: s(t.zeros(1)),
    "len, iteration": lambda t, s: [len(s), list(s)],
    "index": lambda t, s: [s[0], s[-1], caught(lambda: s[4]), kind_of_error(lambda: s["a"])],
    "slice": lambda t, s: [s[1:], s[::2], s[:0], s[1:](t.zeros(1))],
    "set": lambda t, s: [s.__setitem__(-1, layer(t, 9)), s],
    "delete": lambda t, s: [s.__delitem__(1), s, s.__delitem__(slice(0, 2)), s],
    "append": lambda t, s: [s.append(layer(t, 7)) is s, s],
    "extend": lambda t, s: [s.extend(t.nn.Sequential(*four(t))) is s, s],
    "insert": lambda t, s: [s.insert(1, layer(t, 7)), s.insert(-1, layer(t, 8)), s],
    "insert wrongly": lambda t, s: caught(lambda: s.insert(9, layer(t, 1))),
    "pop": lambda t, s: [s.pop(0), s, s.pop(slice(1, 3)), s],
    "named": lambda t, s: t.nn.Sequential(OrderedDict(a=s[0], b=s[1])),
    "named slice": lambda t, s: t.nn.Sequential(OrderedDict(a=s[0], b=s[1]))[1:],
    "empty": lambda t, s: [t.nn.Sequential(), t.nn.Sequential()(t.zeros(1))],
    "dir": lambda t, s: [n for n in dir(s) if n.isdigit()],
    "not a module": lambda t, s: caught(lambda: t.nn.Sequential(3)),
    "nested": lambda t, s: t.nn.Sequential(s, t.nn.Sequential(s)),
}


@pytest.mark.parametrize("case", SEQUENTIAL)
def test_sequential(case: str) -> None:
    agree(lambda t: SEQUENTIAL[case](t, t.nn.Sequential(*four(t))))


LIST: dict[str, Callable[[Any, Any], Any]] = {
    "repr": lambda t, m: [m, t.nn.ModuleList(), t.nn.ModuleList([m, m])],
    "index": lambda t, m: [m[0], m[-1], m[1:3], caught(lambda: m[-5])],
    "set": lambda t, m: [m.__setitem__(0, layer(t, 9)), m],
    "delete": lambda t, m: [m.__delitem__(0), m, m.__delitem__(slice(1, None)), m],
    "append": lambda t, m: [m.append(layer(t, 7)) is m, len(m), list(m)],
    "extend": lambda t, m: [m.extend(four(t)) is m, m, kind_of_error(lambda: m.extend(3))],
    "insert": lambda t, m: [m.insert(0, layer(t, 7)), m],
    "pop": lambda t, m: [m.pop(1), m.pop(-1), m],
    "add": lambda t, m: [m + [layer(t, 5)], m],
    "iadd": lambda t, m: [m.__iadd__([layer(t, 5)]) is m, m],
    "contains": lambda t, m: [m[0] in m, layer(t, 1) in m],
    "call": lambda t, m: caught(lambda: m(1)),
}


@pytest.mark.parametrize("case", LIST)
def test_module_list(case: str) -> None:
    agree(lambda t: LIST[case](t, t.nn.ModuleList(four(t))))


DICT: dict[str, Callable[[Any, Any], Any]] = {
    "repr": lambda t, m: [m, t.nn.ModuleDict()],
    "reading": lambda t, m: [m["b"], "a" in m, len(m), list(m), list(m.keys()), list(m.values())],
    "missing": lambda t, m: [caught(lambda: m["z"]), caught(lambda: m.pop("z"))],
    "set": lambda t, m: [m.__setitem__("c", layer(t, 9)), m, m.__setitem__("a", layer(t, 8)), m],
    "delete": lambda t, m: [m.__delitem__("a"), m, m.pop("b"), m],
    "update": lambda t, m: [m.update({"z": layer(t, 1), "y": layer(t, 2)}), m],
    "update by pairs": lambda t, m: [m.update([["z", layer(t, 1)]]), list(m.items())],
    "update by another": lambda t, m: [m.update(t.nn.ModuleDict({"q": layer(t, 1)})), m],
    "update wrongly": lambda t, m: [
        kind_of_error(lambda: m.update(3)),
        kind_of_error(lambda: m.update([3])),
        kind_of_error(lambda: m.update([[1, 2, 3]])),
    ],
    "clear": lambda t, m: [m.clear(), m, caught(lambda: m.__setitem__("keys", layer(t, 1)))],
}


@pytest.mark.parametrize("case", DICT)
def test_module_dict(case: str) -> None:
    agree(lambda t: DICT[case](t, t.nn.ModuleDict({"b": layer(t, 1), "a": layer(t, 2)})))


PARAMETERS: dict[str, Callable[[Any, Any], Any]] = {
    "repr": lambda t, p: [p, t.nn.ParameterList()],
    "names": lambda t, p: [n for n, _ in p.named_parameters()],
    "tensors become parameters": lambda t, p: [type(p[1]), p[1], p[2]],
    "index": lambda t, p: [p[0], p[-1], p[1:], caught(lambda: p[9])],
    "set": lambda t, p: [p.__setitem__(0, t.zeros(1)), p, len(p)],
    "append": lambda t, p: [p.append(t.zeros(2, 3)) is p, p],
    "extend": lambda t, p: [p.extend([t.zeros(1)]), kind_of_error(lambda: p.extend(3))],
    "iterate": lambda t, p: list(p),
    "iadd": lambda t, p: [p.__iadd__([t.zeros(1)]) is p, p, [n for n in dir(p) if n.isdigit()]],
    "call": lambda t, p: caught(lambda: p(1)),
    "state": lambda t, p: p.state_dict(),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameter_list(case: str) -> None:
    agree(lambda t: PARAMETERS[case](t, t.nn.ParameterList([t.nn.Parameter(t.ones(2)), t.zeros(1), "text"])))
