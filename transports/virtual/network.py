"""The description of a simulated network: its links, and how sends behave in it.

    Network.parse("sim://?latency=2us&rate=100Gb/s")        the same as a dataclass, from an address

`medium` moves messages through it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl

from transports.quantities import amount, span
from transports.virtual import topology
from transports.virtual.topology import Topology


@dataclass(frozen=True)
class Network:
    """The properties of a simulated network, and how sends behave in it.

    A send returns at once (it is eager), its message in a buffer of its own. But one of more than
    `eager` bytes meets its receiver: the transfer begins when the receiver waits for something, and
    the send returns when it is over (rendezvous). And where a rank has more than `window` bytes on
    their way, its send waits until there is room. None: no such limit.

    `rendezvous` is stricter than `eager`; NCCL (0) and MPI (its eager limit) have it. The transfer of a
    message of so many bytes or more begins when its own receive is posted, and the send returns when
    it is over. The talk of the two ranks before the transfer costs nothing, so it is over after
    max(send, receive) + α + βm. Messages that no receive is posted for (remote calls, notices)
    and those to oneself are not concerned.

    Messages that meet at a link pass it one after another (see `stations`).

    Args:
        topology: The links.
        eager: Sends of more bytes wait until their receiver waits for something.
        window: At most so many bytes of a rank are under way.
        detection: Picoseconds after which the others know that a rank is dead.
        rendezvous: Sends of so many bytes or more return when their own receive is posted and the transfer is over.

    Example:
        >>> def both_send_first():
        ...     dist.send(torch.ones(1), 1 - dist.get_rank())
        ...     dist.recv(torch.empty(1), 1 - dist.get_rank())
        >>> try:
        ...     sim.run(both_send_first, 2, net=sim.Network(sim.uniform("1us", "1GB/s"), rendezvous=0))
        ... except sim.NeedsBuffering:
        ...     "each send waits for its receive"
        'each send waits for its receive'
    """

    topology: Topology = field(default_factory=lambda: topology.DEFAULT)
    eager: int | None = None
    window: int | None = None
    detection: int = span("1s")
    """Picoseconds after which the death of a rank is known to the others."""
    rendezvous: int | None = None

    @classmethod
    def parse(cls, address: str) -> Network:
        """`sim://?latency=2us&rate=100Gb/s&wire=0&eager=64KB&window=1MB&rendezvous=0`, each where
        wanted."""
        words = dict(parse_qsl(address.partition("?")[2], keep_blank_values=True))
        known = {"latency": "5us", "rate": "100Gb/s", "wire": "0s"}
        settings: dict[str, Any] = {}
        for word, text in words.items():
            if word in ("eager", "window", "rendezvous"):
                settings[word] = amount(text)
            elif word == "detection":
                settings[word] = span(text)
            elif word in known:
                known[word] = text
            else:
                names = [*known, *(f.name for f in fields(cls) if f.name != "topology")]
                raise ValueError(f"{address!r}: there is no {word!r}; there are {', '.join(names)}")
        return cls(topology.uniform(known["latency"], known["rate"], known["wire"]), **settings)
