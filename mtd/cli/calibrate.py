"""`mtd calibrate tcp://`: fit latency and bandwidth of a real transport, for `net=` of a simulation.

`mtd calibrate cpu` measures this machine's products and copies, for `device=`.
"""

from __future__ import annotations

import argparse

from mtd import calibration, device_calibration
from mtd.cli.parser import Parser
from mtd.pages import whole_files
from mtd.planning.clusters import rate_of
from mtd.refusals import refusing
from transports.quantities import in_words
from transports.registry import scheme_of

ROUNDS = 50


def configure(parser: Parser) -> None:
    parser.takes(f"""
        address                  tcp://, file://, queue://, mqtt://BROKER …; or cpu
        --out OUT                the file to write (links-SCHEME.json, device-cpu.toml)
        --rounds|--trips N: int = {ROUNDS}  round trips of each size (%(default)s)
    """)
    parser.set_defaults(run=run, epilog="mtd calibrate tcp://")


def run(options: argparse.Namespace) -> int:
    with refusing():
        if options.rounds < 1:
            raise ValueError(f"at least one round is needed, not {options.rounds}")
        if options.address == "cpu" and options.rounds != ROUNDS:
            raise ValueError("--rounds is about a transport, and cpu is none")
        is_cpu = options.address == "cpu"
        path = options.out or ("device-cpu.toml" if is_cpu else f"links-{scheme_of(options.address)}.json")
        whole_files.check(path)
        if is_cpu:
            return _device(path)
        found = calibration.measure(options.address, options.rounds)
    about = {"measured": options.address, **found.about()}
    calibration.save_network(path, found.latency, found.per_byte, about)
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
        f"latency {in_words(found.latency)}, {rate_of(found.per_byte) / 1e9:.3g} GB/s: "
        f"written to {path}; use it as net={path!r}"
    )
    return 0


def _device(path: str) -> int:
    """Measure this machine, and write it as a device."""
    found = device_calibration.measure()
    device_calibration.save(found, path)
    for dtype, rate in found.peak.items():
        print(f"{dtype:>10} {rate / 1e9:>10.4g} GFLOP/s")
    print(f"{'memory':>10} {found.bandwidth / 1e9:>10.4g} GB/s")
    print(f"{'launch':>10} {in_words(found.launch):>10}")
    print(f"half of the peak at size {found.half:.3g}: written to {path}")
    print(f"use it as device=sim.gpu({path!r})")
    return 0
