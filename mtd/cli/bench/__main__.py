"""The process of one benchmark: `python -m mtd.cli.bench nn --rounds 3`. Ctrl-C ends it without a traceback, and `mtd` says so."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from mtd.cli import of_checkout
from mtd.cli.bench.command import OF_TESTS
from mtd.cli.page import refuse
from mtd.cli.parser import Parser
from mtd.refusals import CannotDo


def main(target: str, arguments: Sequence[str]) -> int:
    try:
        if target in OF_TESTS:
            return of_checkout.run(OF_TESTS[target], arguments)
        return run(target, arguments)
    except CannotDo as error:
        return refuse(f"bench {target}", error)
    except KeyboardInterrupt:
        return 130


def run(target: str, arguments: Sequence[str]) -> int:
    """Each benchmark has `USAGE`, the lines of its options, and `run`."""
    bench: Any = importlib.import_module(f"mtd.cli.bench.{target}")
    parser = Parser(prog=f"mtd bench {target}", description=bench.__doc__.partition("\n")[0])
    parser.takes(bench.USAGE)
    return int(bench.run(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv.pop(1), sys.argv[1:]))
