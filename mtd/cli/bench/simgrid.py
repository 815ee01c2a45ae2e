"""A ring of messages under SimGrid's S4U, to stand beside ours (see `sim`).

    /usr/bin/python3 simgrid.py RANKS ROUNDS       messages a second of processor time

It imports nothing of ours, because SimGrid's module lives in the system's own Python: on Debian
`apt-get install python3-simgrid`. As our ranks do, each actor sends 64 bytes to its right neighbour
and receives from its left one, in every round, through a star of full-duplex links.

H. Casanova, A. Giersch, A. Legrand, M. Quinson, F. Suter, Versatile, scalable, and accurate simulation
of distributed applications and platforms, JPDC 74(10), 2014, doi:10.1016/j.jpdc.2014.06.008.
"""

from __future__ import annotations

import sys
import time

CHUNK = bytes(64)


def messages_a_second(ranks: int, rounds: int) -> float:
    import simgrid

    engine = simgrid.Engine(["ring", "--log=root.thres:critical"])
    zone = simgrid.NetZone.create_star_zone("star")
    hosts = [zone.create_host(str(rank), 1e9) for rank in range(ranks)]
    for rank, host in enumerate(hosts):
        link = zone.create_split_duplex_link(f"link {rank}", 12.5e9)
        link.set_latency(2.5e-6)
        up = simgrid.LinkInRoute(link.seal(), simgrid.LinkInRoute.UP)
        zone.add_route(host.netpoint, None, None, None, [up], True)
    zone.seal()

    def rank_program(rank: int) -> None:
        right = simgrid.Mailbox.by_name(str((rank + 1) % ranks))
        own = simgrid.Mailbox.by_name(str(rank))
        for _ in range(rounds):
            sending = right.put_async(CHUNK, len(CHUNK))
            own.get()
            sending.wait()

    for rank, host in enumerate(hosts):
        simgrid.Actor.create(str(rank), host, rank_program, rank)
    begin = time.process_time()
    engine.run()
    return ranks * rounds / (time.process_time() - begin)


if __name__ == "__main__":
    print(messages_a_second(int(sys.argv[1]), int(sys.argv[2])))
