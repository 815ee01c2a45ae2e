"""The cost of a link: latency, bytes, additions, in whole picoseconds.

The model is Hockney's with one full-duplex port per rank. A message of m bytes occupies its sender's
transmit port for α + βm. Then it occupies its receiver's receive port for as long, as soon as that is free.
Adding m received bytes takes γm of the rank's time.

    sender     tx │▒▒▒▒ α+βm ▒▒▒▒│                   sends do not wait: they queue at the port
    receiver   rx      │▒▒▒▒ α+βm ▒▒▒▒│γm            (here it was busy for a while)

Times are integers, so that the textbooks' formulas hold with `==`. 100 Gb/s are 80 ps per byte.
With α = 0 and `wire` = L the same ports give LogGP: wire time delays a message and occupies nobody.

Source: R. Hockney, The communication challenge for MPP, Parallel Computing 20(3), 1994,
doi:10.1016/S0167-8191(06)80021-9; A. Alexandrov et al., LogGP, JPDC 44(1), 1997,
doi:10.1006/jpdc.1997.1346.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

PICO = 10**12


@dataclass(frozen=True)
class Links:
    """Equal links between all ranks. `alpha`, `wire`: ps; `beta`, `gamma`: ps per byte."""

    alpha: int = 1_000_000
    beta: int = 80
    gamma: int = 0
    wire: int = 0

    @classmethod
    def measured(cls, latency: float, bandwidth: float, reduction: float = 0.0) -> Links:
        """From seconds per message, bytes per second, and bytes per second added up (0: free)."""
        return cls(round(latency * PICO), max(1, round(PICO / bandwidth)), round(PICO / reduction) if reduction else 0)

    def occupancy(self, source: Any, to: Any, nbytes: Any) -> Any:
        """How long a message keeps a port, for one pair of ranks or arrays of them."""
        return self.alpha + self.beta * nbytes

    def delay(self, source: Any, to: Any) -> int:
        """How long it is on the wire before it reaches the other port."""
        return self.wire

    def among(self, ranks: Sequence[int]) -> Links:
        """The links between some ranks of the world."""
        return self

    @property
    def alike(self) -> bool:
        """Whether all pairs of ranks cost the same."""
        return True


COUNTING = Links(alpha=1, beta=0)  # time is then the number of rounds


@dataclass(frozen=True)
class TwoLevelLinks(Links):
    """Nodes of `per_node` neighbouring ranks: the costs above inside a node, `outer`'s between them."""

    per_node: int = 8
    outer: Links = Links()

    def occupancy(self, source: Any, to: Any, nbytes: Any) -> Any:
        inside = super().occupancy(source, to, nbytes)
        between = self.outer.occupancy(source, to, nbytes)
        return self._choose(source, to, inside, between)

    def delay(self, source: Any, to: Any) -> Any:
        return self._choose(source, to, self.wire, self.outer.wire)

    def among(self, ranks: Sequence[int]) -> Links:
        """Where as many of them share each node, one after the other, their nodes are smaller ones of the same kind."""
        nodes = [rank // self.per_node for rank in ranks]
        runs = [len(list(run)) for _, run in groupby(nodes)]
        if len(set(runs)) != 1 or len(runs) != len(set(nodes)):
            return self
        if runs[0] == 1:
            return self.outer
        if len(runs) == 1:
            return Links(self.alpha, self.beta, self.gamma, self.wire)
        return self if runs[0] == self.per_node else replace(self, per_node=runs[0])

    def _choose(self, source: Any, to: Any, inside: Any, between: Any) -> Any:
        same = np.asarray(source) // self.per_node == np.asarray(to) // self.per_node
        chosen = np.where(same, inside, between)
        return chosen if chosen.ndim else int(chosen)

    @property
    def alike(self) -> bool:
        return False
