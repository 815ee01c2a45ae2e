"""`mtd class`: a room full of laptops trains one model. `host` on the teacher's machine, `join` on all others."""

from __future__ import annotations

import argparse

from mtd.cli.parser import Parser
from mtd.course.classroom.host import PORT
from mtd.course.classroom.training import EVERY, STEPS


def configure(parser: Parser) -> None:
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    host = parts.add_parser(
        "host",
        help="on the teacher's machine: opens the class, and shows it",
        description="Opens a class: a broker for everybody, a word to join with, and a console. "
        "Words of the console: start, race, unplug NAME, plug NAME, stop, who, finish; help explains them.",
        epilog="For example: mtd class host --seats 20",
    )
    host.takes(f"""
        --seats SEATS: int = 32                                   at most so many laptops (%(default)s)
        --port PORT: int = {PORT}                                 where to listen; 0: any free one (%(default)s)
        --address ADDRESS                                         by which laptops reach this machine (found out, if it can be)
        --listen LISTEN = 0.0.0.0                                 on this address only (%(default)s: on all)
        --word WORD                                               the word to join with (four new ones)
        --race RACE = ring,tree                                   what `race` races (%(default)s)
        --steps STEPS: int = {STEPS}                              of training; weights are recorded each {EVERY} (%(default)s)
        --pace PACE: float = 0.25                                 seconds of a step, at least (%(default)s)
        --page PAGE: path = class.html                            for the projector (%(default)s)
        --certificate CERTIFICATE: path = class-certificate.html  written at the end (%(default)s)
        --plain                                                   only lines, no screen
    """)
    host.set_defaults(part_run="host")
    join = parts.add_parser(
        "join",
        help="on a student's laptop",
        description="Joins the class of a teacher, as one of its ranks. Ctrl-C leaves it; the others go on.",
        epilog="For example: mtd class join 192.168.1.5 --word maple-river-otter-cloud",
    )
    join.takes("""
        host HOST[:PORT]  the teacher's machine, as the projector says
        --word WORD       the word on the projector (asked for)
        --name NAME       how you want to be called (asked for)
    """)
    join.set_defaults(part_run="join")
    parser.set_defaults(run=run, epilog="mtd class host; mtd class join 192.168.1.5 --word maple-river-otter-cloud")


def run(options: argparse.Namespace) -> int:
    if options.part_run == "host":
        from mtd.cli.classroom import hosting

        return hosting.run(options)
    from mtd.cli.classroom import joining

    return joining.run(options)
