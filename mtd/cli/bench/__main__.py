"""The process of one benchmark: `python -m mtd.cli.bench nn --rounds 3`. Ctrl-C ends it without a traceback, and `mtd` says so."""

import importlib
import sys

if __name__ == "__main__":
    target = sys.argv.pop(1)
    try:
        status = importlib.import_module(f"mtd.cli.bench.{target}").main()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
