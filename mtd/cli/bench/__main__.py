"""The process of one benchmark: `python -m mtd.cli.bench nn --rounds 3`. Ctrl-C ends it without a traceback, and `mtd` says so."""

import importlib
import sys

from mtd.cli import of_checkout
from mtd.cli.bench.command import OF_TESTS
from mtd.cli.page import refuse
from mtd.refusals import CannotDo

if __name__ == "__main__":
    target = sys.argv.pop(1)
    try:
        if target in OF_TESTS:
            status = of_checkout.run(OF_TESTS[target])
        else:
            status = importlib.import_module(f"mtd.cli.bench.{target}").main()
    except CannotDo as error:
        status = refuse("bench", error)
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
