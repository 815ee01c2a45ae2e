"""`FlopCounterMode`: how many operations the products of a program take, by kind.

    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    counter.get_total_flops()

Each function that multiplies reports it (see `tensors.flops`): matrix products, attention, recurrent layers
and convolutions. They report forwards and backwards, and again where a checkpoint computes again. Nothing
is estimated from the model. A multiplication and an addition are two operations; element-wise work does not
count.
"""

from __future__ import annotations

from contextlib import ExitStack

from minitorch_dist.tensors import flops


class FlopCounterMode:
    """Counts what this thread multiplies inside the block."""

    def __init__(self, *, display: bool = True) -> None:
        self.display = display
        self._counts: dict[str, int] = {}
        self._open: ExitStack | None = None

    def get_total_flops(self) -> int:
        return sum(self._counts.values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """By the kind of operation, under the name that torch gives to the whole program."""
        return {"Global": dict(self._counts)} if self._counts else {}

    def get_table(self) -> str:
        """A line for each kind, and one for all."""
        lines = [("FLOP", self.get_total_flops()), *self._counts.items()]
        return "\n".join(f"{kind:<40} {count:>20,}" for kind, count in lines)

    def __enter__(self) -> FlopCounterMode:
        if self._open is not None:
            raise RuntimeError("this counter was entered already; make another one")
        self._counts.clear()
        self._open = ExitStack()
        self._open.enter_context(flops.counters.listening(self._count))
        return self

    def __exit__(self, *error: object) -> None:
        assert self._open is not None, "entered before"
        self._open.close()
        self._open = None
        if self.display:
            print(self.get_table())

    def _count(self, kind: str, operations: int, _: flops.Sizes | None = None) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + operations
