"""`mtd calibrate tcp://`: fit latency and bandwidth of a real transport, for `net=` of a simulation."""

from __future__ import annotations

import argparse

from minitorch_dist.cli import page
from minitorch_dist.sim import calibration, nets
from transports.quantities import in_words
from transports.registry import scheme_of


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", help="tcp://, file://, queue://, mqtt://BROKER …")
    parser.add_argument("--out", help="the file to write (links-SCHEME.json)")
    parser.add_argument("--trips", type=int, default=50, help="of each size (%(default)s)")
    parser.set_defaults(run=run, epilog="mtd calibrate tcp://")


def run(options: argparse.Namespace) -> int:
    try:
        if options.trips < 1:
            raise ValueError(f"at least one trip is needed, not {options.trips}")
        found = calibration.measure(options.address, options.trips)
    except (ValueError, OSError) as error:
        return page.refuse("calibrate", error)
    path = options.out or f"links-{scheme_of(options.address)}.json"
    nets.save(path, found.latency, found.per_byte, {"measured": options.address, **found.about()})
    print(f"{'bytes':>10} {'one way':>12} {'fitted':>12}")
    for nbytes, span in found.times.items():
        fitted = found.latency + round(nbytes * found.per_byte)
        print(f"{nbytes:>10,} {in_words(span):>12} {in_words(fitted):>12}")
    costs = found.costs
    adds = f"{1e3 / costs.per_added:.3g} GB/s" if costs.per_added else "free"
    print(
        f"additions {adds}, a call {in_words(round(costs.overhead))} more than its messages, ranks share "
        f"{costs.cores:.2g} cores"
    )
    print(
        f"latency {in_words(found.latency)}, {nets.rate_of(found.per_byte) / 1e9:.3g} GB/s: "
        f"written to {path}; use it as net={path!r}"
    )
    return 0
