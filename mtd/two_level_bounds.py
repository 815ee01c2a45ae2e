"""Lower bounds of every schedule where links between nodes are slower than those within one.

    P ranks on N nodes of g; a byte within a node takes b, between nodes B; a message a, and A

    time    all_reduce   2n ((P-N) b + (N-1) B) / P       (the mean over all ports)
            all_gather, reduce_scatter
                         n ((P-1 - (P-g)/g) b + (P-g)/g B) / P      (the ports of one node)
            broadcast, reduce
                         n ((g-1) b + B) / g              (the ports of one node)
            all_to_all   n ((g-1) b + (P-g) B) / P
            scatter, gather
                         n (P-g)/P B / g, and n (P-1)/P b
    start   max(⌈lg P⌉ a,  ⌈log N / log (g+1)⌉ A,  A + min(⌈lg g⌉ a, A))

Bytes: take the nodes for ranks. By the bounds of `schedules.bounds` one rank must send or take in so much.
A node must do this as a whole, over B, and has g ports for it. All that its ranks need beyond that comes
over b at best. In all_reduce every element is sent 2(P-1) times in all, as each rank hears of each. At
least 2(N-1) of these times are between nodes, and all P ports share in it.

Start: ranks that know something at most double in a; an informed node of g ranks informs at most g more in A;
and from one node to the whole of another takes one message between them, while those who know double on
either side of it.

Between nodes A ≥ a and B ≥ b is taken for granted; where it is not so, the cheaper stands for a and b.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from minitorch_dist.distributed.schedules import bounds, powers
from transports.virtual.topology import TwoLevel

WHOLE = ("all_reduce", "broadcast", "reduce")
HALVES = ("all_gather", "reduce_scatter")  # each rank takes in, or sends, all but its own share


def least_time(collective: str, size: int, nbytes: int, net: TwoLevel, adding: int = 0) -> int:
    """Picoseconds; the largest of bounds each of which holds by itself."""
    nodes = list(Counter(net.node(rank) for rank in range(size)).values())  # the root's first
    if nbytes % size and collective not in WHOLE:  # shares are not equal: a byte less for each
        nbytes = max(nbytes - size, 0)
    transfer = _transfer(collective, size, nodes, net) * nbytes
    sums = collective in ("reduce", "all_reduce", "reduce_scatter")
    add = Fraction((size - 1) * nbytes * adding, size) if sums else 0
    return max(_start(size, nodes, net), int(transfer), int(add))


def _start(size: int, nodes: list[int], net: TwoLevel) -> int:
    if len(nodes) == 1:
        return powers.rounds(size) * net.intra.latency
    far = net.inter.latency
    near = min(net.intra.latency, far)
    informed, steps = 1, 0
    while informed < len(nodes):
        informed, steps = informed * (max(nodes) + 1), steps + 1
    return max(powers.rounds(size) * near, steps * far, far + min(powers.rounds(max(nodes[1:])) * near, far))


def _transfer(collective: str, size: int, nodes: list[int], net: TwoLevel) -> Fraction:
    """Picoseconds for each byte of the vector."""
    far = net.inter.per_byte
    if len(nodes) == 1:
        return bounds.least_port_bytes(collective, size, 1) * net.intra.per_byte
    near = min(net.intra.per_byte, far)
    match collective:
        case "barrier":
            return Fraction(0)
        case "all_reduce":
            return 2 * ((size - len(nodes)) * near + (len(nodes) - 1) * far) / size
        case "broadcast" | "reduce":
            return max(((g - 1) * near + far) / g for g in nodes[1:])
        case "scatter" | "gather":
            crossing = Fraction(size - nodes[0], size) * far / nodes[0]
            return max(Fraction(size - 1, size) * near, crossing)
        case "all_to_all":
            return max(((g - 1) * near + (size - g) * far) / size for g in nodes)
    assert collective in HALVES, collective
    return max((Fraction(g * (size - 1) - (size - g), size) * near + Fraction(size - g, size) * far) / g for g in nodes)
