"""`mtd completion bash`: a script with which a shell completes commands and options. shtab writes it."""

from __future__ import annotations

import argparse
import sys

from mtd.cli.parser import Parser
from mtd.refusals import CannotDo

WHERE = {
    "bash": "~/.local/share/bash-completion/completions/mtd",
    "zsh": "a file _mtd in a folder of $fpath",
    "fish": "~/.config/fish/completions/mtd.fish",
}


def configure(parser: Parser) -> None:
    parser.takes(f"""
        shell {{{",".join(WHERE)}}}  the shell; its script is printed, to be kept in {"; ".join(WHERE.values())}
    """)
    parser.set_defaults(run=run, epilog=f"mtd completion bash > {WHERE['bash']}")


def run(options: argparse.Namespace) -> int:
    from mtd.cli import COMMANDS, parser_of

    try:
        import shtab
    except ModuleNotFoundError as error:
        raise CannotDo("this takes the package shtab: pip install 'minitorch_dist[completion]'") from error
    sys.stdout.write(shtab.complete(parser_of(*COMMANDS), options.shell))
    return 0
