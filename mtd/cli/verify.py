"""`mtd verify tcp:// --net links-tcp.json`: ring, tree and halving, predicted beside measured, with an interval."""

from __future__ import annotations

import argparse
from pathlib import Path

from minitorch_dist.sim import nets
from mtd import calibration
from mtd.cli.parser import Parser
from mtd.refusals import refusing
from transports.quantities import amount, in_words
from transports.virtual.network import Network

SIZES = ("1KB", "64KB", "1MB")
WIDE = (10, 12, 12, 12, 12, 7)  # letters of the columns


def configure(parser: Parser) -> None:
    parser.takes("""
        address                 tcp://, file://, queue://, mqtt://BROKER …
        --net NET               a file of mtd calibrate (it is measured now)
        --ranks RANKS: int = 2  how many (%(default)s)
        --size|--bytes BYTES+         of the vector, one or several (1KB 64KB 1MB)
        --rounds|--turns N: int = 10   calls of each kind (%(default)s)
    """)
    parser.set_defaults(run=run, epilog="mtd verify tcp:// --ranks 4")


def run(options: argparse.Namespace) -> int:
    with refusing():
        sizes = [amount(text) for text in options.size or SIZES]
        if options.ranks < 2 or options.rounds < 1 or min(sizes) < 4:
            raise ValueError("it takes 2 ranks, 1 turn and 4 bytes at least")
        known = _known(options.net, options.address)
        found = calibration.verify(options.address, known, options.ranks, sizes, options.rounds)
    heads = "bytes", "predicted", "from", "to", "measured", "ratio"
    print(f"{'all_reduce':<16} {' '.join(map(str.rjust, heads, WIDE))}")
    for one in found:
        ratio = one.measured / one.predicted if one.predicted else float("nan")
        ends = one.predicted, one.low, one.high, one.measured
        spans = ("?" if end is None else in_words(end) for end in ends)
        cells = f"{one.nbytes:,}", *spans, f"{ratio:.2f}×"
        outside = "  outside" if one.is_inside is False else ""
        print(f"{one.algorithm:<16} {' '.join(map(str.rjust, cells, WIDE))}{outside}")
    inside = [one.is_inside for one in found]
    if None in inside:
        print("no intervals: this network was described, not measured by mtd calibrate")
    else:
        count = f"{inside.count(True)} of {len(found)}"
        print(f"{count} measured values fell inside their {calibration.LEVEL:.0%} intervals")
    return 0


def _known(net: str | None, address: str) -> calibration.Fit | Network:
    """A network that was measured, or one that is only described."""
    if net is None:
        return calibration.measure(address)
    network = nets.read(net)
    fitted = calibration.load(net) if Path(net).is_file() else None
    return network if fitted is None else fitted
