"""`python -m transports.broker`: a broker of its own process. Its first line is its address."""

from __future__ import annotations

import argparse
import sys

from transports.broker import command


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m transports.broker",
        description="An MQTT broker for worlds that have none; prints its address and serves.",
    )
    command.configure(parser)
    return command.run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
