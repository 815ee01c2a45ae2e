"""`mtd replay TOKEN SCRIPT`: make the run of a token again, which fails as it did."""

from __future__ import annotations

import argparse
from functools import partial

from minitorch_dist import sim
from minitorch_dist.sim import replay_token
from mtd.cli import scripts
from mtd.cli.lessons.commands import lessons_for
from mtd.cli.parser import Parser
from mtd.refusals import refusing


def configure(parser: Parser) -> None:
    parser.takes("""
        --net NET = sim://  the address of then
        token               mtd1:seed=…, as a failing run has printed it
    """)
    scripts.add_script(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    with refusing():
        scripts.check(arguments.script)
        scripts.warn_of_strays(arguments)
        replay_token.parse(arguments.token)
    program = scripts.program(arguments.script, arguments.arguments)
    with lessons_for(arguments.script), scripts.environment_of_ranks(arguments.script):
        report = scripts.attempted(partial(sim.replay, arguments.token, program, net=arguments.net))
    if report is None:
        return 1
    print(report)
    print("It does not fail: the program is not that of then.")
    return 0
