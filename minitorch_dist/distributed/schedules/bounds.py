"""Lower bounds that no schedule can beat.

                      rounds      bytes through one port     additions
    broadcast         ⌈lg p⌉      n                          –
    reduce            ⌈lg p⌉      n                          (p-1)/p n
    scatter, gather   ⌈lg p⌉      (p-1)/p n                  –
    all_gather        ⌈lg p⌉      (p-1)/p n                  –
    all_to_all        ⌈lg p⌉      (p-1)/p n                  –
    reduce_scatter    ⌈lg p⌉      (p-1)/p n                  (p-1)/p n
    all_reduce        ⌈lg p⌉      2(p-1)/p n                 (p-1)/p n

Rounds: with one port the number of ranks that know something can only double. Bytes: the parts that a rank
lacks have to come in; a port that has taken in all of a vector has spent nβ. (Networks that add on
the way are not in this model.) The bytes that the busiest rank *sends* have a bound too: all that
must be received is sent by someone.

Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, Collective communication: theory,
practice, and experience, CCPE 19(13), 2007, doi:10.1002/cpe.1206; P. Patarasuk, X. Yuan, JPDC 69(2),
2009, doi:10.1016/j.jpdc.2008.09.002.
"""

from __future__ import annotations

from fractions import Fraction

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.links import Links


def least_rounds(size: int) -> int:
    return powers.rounds(size)


def least_port_bytes(collective: str, size: int, nbytes: int) -> Fraction:
    """Bytes that some port has to carry (in or out)."""
    if size == 1 or collective == "barrier":
        return Fraction(0)
    if collective in ("broadcast", "reduce"):
        return Fraction(nbytes)
    share = Fraction((size - 1) * nbytes, size)
    return 2 * share if collective == "all_reduce" else share


def least_bytes(collective: str, size: int, nbytes: int) -> Fraction:
    """Bytes that the rank which sends most has to send.

    Everything is sent somewhere: the mean over the ranks, or, where one rank holds all there is,
    what that one has to give away.
    """
    if size == 1 or collective == "barrier":
        return Fraction(0)
    share = Fraction((size - 1) * nbytes, size)
    return {
        "broadcast": Fraction(nbytes),  # the root has to say everything once
        "reduce": share,
        "scatter": share,
        "gather": Fraction(nbytes, size),
        "all_gather": share,
        "reduce_scatter": share,
        "all_to_all": share,
        "all_reduce": 2 * share,
    }[collective]


def least_time(collective: str, size: int, nbytes: int, links: Links) -> int:
    """Picoseconds, with equal links: the largest of the three bounds (each holds by itself)."""
    if size == 1:
        return 0
    latency = least_rounds(size) * links.alpha
    transfer = least_port_bytes(collective, size, nbytes) * links.beta
    adding = Fraction((size - 1) * nbytes, size) * links.gamma
    if collective not in ("reduce", "all_reduce", "reduce_scatter"):
        adding = Fraction(0)
    return max(latency, int(transfer), int(adding))
