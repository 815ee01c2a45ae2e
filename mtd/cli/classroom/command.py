"""`mtd class`: a room full of laptops trains one model. `host` on the teacher's machine, `join` on all others."""

from __future__ import annotations

import argparse
from pathlib import Path

from mtd.course.classroom.host import PORT
from mtd.course.classroom.training import EVERY, STEPS


def configure(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    host = parts.add_parser(
        "host", help="on the teacher's machine: opens the class, and shows it",
        description="Opens a class: a broker for everybody, a word to join with, and a console. "
        "Words of the console: start, race, unplug NAME, plug NAME, stop, who, finish; help explains them.",
        epilog="For example: mtd class host --seats 20",
    )  # fmt: skip
    host.add_argument("--seats", type=int, default=32, help="at most so many laptops (%(default)s)")
    host.add_argument(
        "--port", type=int, default=PORT, help="where to listen; 0: any free one (%(default)s)"
    )
    host.add_argument(
        "--address", help="by which laptops reach this machine (found out, if it can be)"
    )
    host.add_argument(
        "--listen", default="0.0.0.0", help="on this address only (%(default)s: on all)"
    )
    host.add_argument("--word", help="the word to join with (four new ones)")
    host.add_argument("--race", default="ring,tree", help="what `race` races (%(default)s)")
    host.add_argument(
        "--steps",
        type=int,
        default=STEPS,
        help=f"of training; weights are recorded each {EVERY} (%(default)s)",
    )
    host.add_argument(
        "--pace", type=float, default=0.25, help="seconds of a step, at least (%(default)s)"
    )
    host.add_argument(
        "--page", type=Path, default=Path("class.html"), help="for the projector (%(default)s)"
    )
    host.add_argument(
        "--certificate",
        type=Path,
        default=Path("class-certificate.html"),
        help="written at the end (%(default)s)",
    )
    host.add_argument("--plain", action="store_true", help="only lines, no screen")
    host.set_defaults(part_run="host")
    join = parts.add_parser(
        "join", help="on a student's laptop",
        description="Joins the class of a teacher, as one of its ranks. Ctrl-C leaves it; the others go on.",
        epilog="For example: mtd class join 192.168.1.5 --word maple-river-otter-cloud",
    )  # fmt: skip
    join.add_argument(
        "host", metavar="HOST[:PORT]", help="the teacher's machine, as the projector says"
    )
    join.add_argument("--word", help="the word on the projector (asked for)")
    join.add_argument("--name", help="how you want to be called (asked for)")
    join.set_defaults(part_run="join")
    parser.set_defaults(
        run=run, epilog="mtd class host; mtd class join 192.168.1.5 --word maple-river-otter-cloud"
    )


def run(options: argparse.Namespace) -> int:
    if options.part_run == "host":
        from mtd.cli.classroom import hosting

        return hosting.run(options)
    from mtd.cli.classroom import joining

    return joining.run(options)
