"""`FlopCounterMode`: how many operations the products of a program take, by module and by kind.

    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    counter.get_total_flops()

Each function that multiplies reports it (see `tensors.flops`): matrix products, attention, recurrent layers
and convolutions. They report forwards and backwards, and again where a checkpoint computes again. Nothing
is estimated from the model. A multiplication and an addition are two operations; element-wise work does not
count.

A product belongs to the modules around it, which are those that are being called, and, in a backward
pass, those in which the running node was recorded.
"""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from typing import Any
from weakref import WeakKeyDictionary

from minitorch_dist.nn.modules import hooks
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import flops
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.graph import Node

__all__ = ["FlopCounterMode"]

GLOBAL = "Global"
SUFFIXES = ("", "K", "M", "B", "T")


class FlopCounterMode:
    """Counts what this thread multiplies inside the block. `depth`: how deep the table goes."""

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        if custom_mapping:
            raise ValueError(
                "custom_mapping gives formulas for torch's operators; here operations tell what they "
                "multiply: a function of your own is counted by the products that it calls"
            )
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = {}
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._called: list[str] = []  # the modules that are being called, the outermost first
        self._around: WeakKeyDictionary[Node, tuple[str, ...]] = WeakKeyDictionary()
        self._open: ExitStack | None = None

    # -------------------------------------------------------------------------------- results

    def get_total_flops(self) -> int:
        return sum(self.flop_counts.get(GLOBAL, {}).values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """By the name of a module ("Global" for all), then by the kind of operation."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module, with a line for each kind below it."""
        deepest = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = max(0, min(len(SUFFIXES) - 1, (len(str(total)) - 2) // 3))
        modules = [
            name
            for name in sorted(self.flop_counts)
            if name != GLOBAL and (deepest is None or name.count(".") < deepest)
        ]
        is_whole = any(sum(self.flop_counts[name].values()) == total for name in modules)
        lines = []
        if not is_whole and GLOBAL in self.flop_counts:
            lines += self._lines(GLOBAL, 0, total, suffix)
        shift = bool(lines)
        for name in modules:
            lines += self._lines(name, name.count(".") + shift, total, suffix)
        return _aligned(lines or [(GLOBAL, "0", "0%")])

    def _lines(self, name: str, indent: int, total: int, suffix: int) -> list[tuple[str, str, str]]:
        counts, pad = self.flop_counts[name], " " * indent

        def line(what: str, count: int) -> tuple[str, str, str]:
            share = f"{count / total:.2%}" if total else "0%"
            return pad + what, f"{count / 1000**suffix:.3f}{SUFFIXES[suffix]}", share

        return [
            line(name, sum(counts.values())),
            *(line(f" - {kind}", count) for kind, count in counts.items()),
        ]

    def __repr__(self) -> str:
        state = "counting" if self._open else "not counting"
        return f"<FlopCounterMode: {self.get_total_flops()} operations, {state}>"

    # ------------------------------------------------------------------------------- counting

    def __enter__(self) -> FlopCounterMode:
        if self._open is not None:
            raise RuntimeError(f"{self!r} was entered already; make another one")
        self.flop_counts.clear()
        self._called.clear()
        with ExitStack() as stack:
            stack.enter_context(flops.counters.listening(self._count))
            stack.enter_context(observers.nodes.listening(self._remember))
            before = hooks.register_module_forward_pre_hook(self._enter_module)
            stack.callback(before.remove)
            after = hooks.register_module_forward_hook(self._leave_module, always_call=True)
            stack.callback(after.remove)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        assert self._open is not None, "entered before"
        self._open.close()
        self._open = None
        if self.display:
            print(self.get_table())

    def _count(self, kind: str, operations: int, _: flops.Sizes | None = None) -> None:
        node = flops.running.get()
        around = () if node is None else self._around.get(node, ())
        for name in {GLOBAL, *self._called, *around}:
            counts = self.flop_counts.setdefault(name, {})
            counts[kind] = counts.get(kind, 0) + operations

    def _remember(self, node: Node) -> None:
        if self._called:
            self._around[node] = tuple(self._called)

    def _enter_module(self, module: Module, _: Any) -> None:
        if self._count in flops.counters.here():  # and not another thread's
            self._called.append(self._name(module))

    def _leave_module(self, module: Module, *_: Any) -> None:
        if self._count in flops.counters.here() and self._called:
            self._called.pop()

    def _name(self, module: Module) -> str:
        """As torch says it: the class of the outermost, and attributes from there."""
        if module not in self._names:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self._names.setdefault(inner, f"{root}.{path}" if path else root)
        return self._names[module]


def _aligned(lines: list[tuple[str, str, str]]) -> str:
    """Under a heading, in columns."""
    lines = [("Module", "FLOP", "% Total"), *lines]
    first, second, third = (max(len(line[column]) for line in lines) for column in range(3))
    lines.insert(1, ("-" * first, "-" * second, "-" * third))
    return "\n".join(f"{a:<{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in lines)
