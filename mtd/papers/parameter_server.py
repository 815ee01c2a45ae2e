"""P15: where a parameter server's time goes: into the ports of the servers."""

from __future__ import annotations

from collections.abc import Sequence

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from mtd.papers.paper import Row

WORKERS, COUNT = 8, 9600  # of float32
NET = nets.Hockney(0, "100Gb/s")
BETA = 80  # ps per byte


def _step(servers: int) -> None:
    """Every worker pushes a part of its gradient to each server, and pulls the sums."""
    rank, part = dist.get_rank(), COUNT // servers
    if rank < servers:
        total, theirs = torch.zeros(part), [torch.zeros(part) for _ in range(WORKERS)]
        works = [dist.irecv(t, servers + w) for w, t in enumerate(theirs)]
        for work, one in zip(works, theirs, strict=True):
            if work is not None:
                work.wait()
            total += one
        first = rank * WORKERS // servers  # each server begins with another worker
        workers = [(first + at) % WORKERS for at in range(WORKERS)]
        for work in [dist.isend(total, servers + worker) for worker in workers]:
            if work is not None:
                work.wait()
        return
    gradient = torch.ones(COUNT)
    for server in range(servers):  # each begins with another one: nobody stands in a queue
        at = (server + rank) % servers
        dist.isend(gradient[at * part : (at + 1) * part], at)
    for server in range(servers):
        at = (server + rank) % servers
        dist.recv(gradient[at * part : (at + 1) * part], at)
    assert float(gradient[0].item()) == WORKERS


def _ring() -> None:
    dist.all_reduce(torch.ones(COUNT), algorithm="ring")


def rows() -> Sequence[Row]:
    nbytes, found, times = 4 * COUNT, [], {}
    for servers in (1, 2, 4, 8):
        report = run(_step, WORKERS + servers, (servers,), net=NET)
        port = max(nbytes, WORKERS * nbytes // servers)  # bytes through the busiest one, each way
        times[servers] = report.time
        found.append(Row(f"{servers} servers", 2 * port * BETA / 1e6, report.time / 1e6, 0.0, "µs"))
        busiest = max(max(r.bytes_sent, r.bytes_received) for r in report.ranks)
        found.append(Row(f"{servers} servers, busiest port", port, busiest, 0.0, "B"))
    ring = run(_ring, WORKERS, net=NET).time
    first = next(servers for servers, time in times.items() if time <= 1.25 * ring)
    found.append(Row("servers at which it is as fast as a ring", WORKERS, first))
    return found
