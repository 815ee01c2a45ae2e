"""`mtd broker`: an MQTT broker for worlds that have none, until Ctrl-C."""

from __future__ import annotations

import argparse
import sys

from transports.broker import command

HINT = """\
On every rank: init_process_group("mqtt", "mqtt://HOST:PORT", rank=…, world_size=…), with the same
job key (MINITORCH_DIST_KEY; on one machine nothing is needed). Other programs, such as your mystack,
do not have this key: mtd broker --open asks for none. Ctrl-C ends the broker."""
OPEN = """\
Every program of this machine may use it, for example: python -m mystack train --wire mqtt
--broker HOST:PORT. Ctrl-C ends the broker."""


def configure(parser: argparse.ArgumentParser) -> None:
    command.configure(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if sys.stderr.isatty():
        print(OPEN if options.open else HINT, file=sys.stderr)
    return command.run(options)
