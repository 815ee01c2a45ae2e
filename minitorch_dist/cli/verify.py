"""`mtd verify tcp:// --net links-tcp.json`: ring, tree and halving, predicted beside measured."""

from __future__ import annotations

import argparse

from minitorch_dist.cli import page
from minitorch_dist.sim import calibration, nets
from transports.quantities import amount, in_words


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", help="tcp://, file://, queue://, mqtt://BROKER …")
    parser.add_argument("--net", help="a file of mtd calibrate (it is measured now)")
    parser.add_argument("--ranks", type=int, default=2, help="how many (%(default)s)")
    parser.add_argument("--bytes", nargs="+", default=["1KB", "64KB", "1MB"], help="of the vector")
    parser.add_argument("--turns", type=int, default=10, help="calls of each kind (%(default)s)")
    parser.set_defaults(run=run, epilog="mtd verify tcp:// --ranks 4")


def run(options: argparse.Namespace) -> int:
    try:
        sizes = [amount(text) for text in options.bytes]
        if options.ranks < 2 or options.turns < 1 or min(sizes) < 4:
            raise ValueError("it takes 2 ranks, 1 turn and 4 bytes at least")
        network = (
            nets.read(options.net) if options.net
            else calibration.measure(options.address).network
        )  # fmt: skip
        found = calibration.verify(options.address, network, options.ranks, sizes, options.turns)
    except (ValueError, OSError) as error:
        return page.refuse("verify", error)
    print(f"{'all_reduce':<16} {'bytes':>10} {'predicted':>12} {'measured':>12} {'ratio':>7}")
    for one in found:
        ratio = one.measured / one.predicted if one.predicted else float("nan")
        print(
            f"{one.algorithm:<16} {one.nbytes:>10,} {in_words(one.predicted):>12} "
            f"{in_words(one.measured):>12} {ratio:>6.2f}×"
        )
    return 0
