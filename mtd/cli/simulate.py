"""`mtd simulate all_reduce --ranks 64 --size 100MB`: every algorithm on a described network, in no time.

`mtd run --sim` tells the time of a whole script on it.
"""

from __future__ import annotations

import argparse
import math

from rich.console import Console

from minitorch_dist.distributed.schedules import choice, schedule_files
from minitorch_dist.distributed.schedules.schedule import COLLECTIVES, is_address
from minitorch_dist.sim import nets, topologies
from mtd import estimates
from mtd.cli import page
from mtd.cli.parser import Parser, near
from mtd.pages.link_table import link_table
from mtd.refusals import refusing
from transports.quantities import amount, byte_time, in_words

HEAD = "algorithm", "rounds", "messages", "most bytes", "time", "bound"


def configure(parser: Parser) -> None:
    parser.add_argument("collective", choices=COLLECTIVES, metavar="COLLECTIVE", help=", ".join(COLLECTIVES))
    parser.takes("""
        --ranks RANKS: int = 8       how many (%(default)s)
        --size|--bytes BYTES = 1MB  of the whole vector, like 64KB (%(default)s)
        --net NET = sim://           sim://?latency=5us&rate=100Gb/s, two_level:nodes=…,gpus=…,intra=2us/150GB/s,inter=5us/100Gb/s, \
                                     torus:shape=4x4,link=1us/100Gb/s (so are mesh, fat_tree, rails and dragonfly), \
                                     or a file of mtd calibrate (%(default)s)
        --links                      show the links of the network, too
        --algorithm ALGORITHM = all  one of them, or auto; or a file with one of your own, mine.py, which stands beside all (all)
        --adding ADDING              the rate of additions, like 8GB/s (they are free)
    """)
    parser.set_defaults(run=run, epilog="mtd simulate all_reduce --ranks 64 --size 100MB")


def run(options: argparse.Namespace) -> int:
    with refusing():
        if options.ranks < 1:
            raise ValueError(f"a world has at least one rank, not {options.ranks}")
        algorithms = ["all", "auto", *choice.known(options.collective)]
        name = options.algorithm.partition(":")[0]
        if name not in algorithms and not is_address(name):
            said = near(options.algorithm, algorithms)
            raise ValueError(
                f"no algorithm {options.algorithm!r}{said} for {options.collective}; there are "
                f"{', '.join(algorithms)}, and files of your own, such as mine.py"
            )
        net, nbytes = nets.read(options.net), amount(options.size)
        gamma = math.ceil(byte_time(options.adding)) if options.adding else 0
        topologies.check(net.topology, options.ranks)
        found = estimates.compare(options.collective, options.ranks, nbytes, net, options.algorithm, gamma)
    table = page.table(*HEAD, left=HEAD[:1], is_tight=True)
    for one in found:
        counts = (f"{count:,}" for count in (one.rounds, one.messages, one.max_sent))
        is_own = one.schedule.steps.__module__.startswith(schedule_files.PREFIX)
        cells = one.schedule.algorithm, *counts, *page.beside_bound(one.time, one.bound)
        table.add_row(*cells, style="bold" if is_own else "")
    console = Console(highlight=False)
    console.print(
        f"{options.collective} of {nbytes:,} bytes, {options.ranks} rank{'s' * (options.ranks != 1)}, {options.net}; no schedule "
        f"can take less than {in_words(found[0].bound)}"
    )
    console.print(page.fitting(table, console))
    if options.links:
        console.print(link_table(net.topology, options.ranks))
    return 0
