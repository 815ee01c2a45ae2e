"""python -m mystack train --ranks 4 --wire tcp

train | zero | fsdp | pipeline     train the digits; the weights have to be
tensor | experts                   those of one rank, bit for bit
rpc                                calls, references, gradients across ranks
examine                            ask every lesson's code a small question,
                                   and say whose is wrong
join ADDRESS --here 2              start ranks of a program that has begun on
                                   another machine with --here and --host
lessons                            which code is yours
"""

import argparse
import json
import socket
import sys

from . import broker, exact, examine, launch, machines
from .failures import Failed, in_words, lessons, named
from .programs import TRAINED
from .training import EXPERTS

WIRES = ("tcp", "file", "mqtt")
LIMIT = 60.0  # seconds of an examination: a wrong answer may wait for ever
ALGORITHMS = ("ring", "recursive_doubling", "rabenseifner", "binomial", "neighbour", "in_order")


def parsed(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m mystack",
        usage="%(prog)s COMMAND [--ranks N] [--wire WIRE] [more: --help]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command", choices=[*TRAINED, "rpc", "examine", "join", "lessons", "a-rank"]
    )
    parser.add_argument(
        "asked", nargs="?", metavar="ADDRESS", help="join: what the first machine says"
    )
    parser.add_argument("--ranks", type=int, default=4, help="processes (%(default)s)")
    parser.add_argument("--here", type=int, help="how many of them run on this machine (all)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS[:PORT]",
        help="with --here: where others reach this machine",
    )
    parser.add_argument(
        "--wire", choices=WIRES, default="tcp", help="what messages go over (%(default)s)"
    )
    parser.add_argument("--broker", default="127.0.0.1:1883", help="with --wire mqtt (%(default)s)")
    parser.add_argument("--steps", type=int, default=60, help="of training (%(default)s)")
    parser.add_argument(
        "--every", type=int, default=10, help="steps between two lines (%(default)s)"
    )
    parser.add_argument(
        "--kill", metavar="RANK@STEP", help="train: kill this rank after this step, once"
    )
    parser.add_argument(
        "--ddp",
        choices=["17", "18", "19"],
        default="19",
        help="train: the lesson whose DDP is used (%(default)s)",
    )
    parser.add_argument(
        "--all-reduce", choices=ALGORITHMS, help="train: always this one (lesson 15 chooses)"
    )
    parser.add_argument(
        "--schedule",
        choices=["26", "27", "34"],
        default="27",
        help="pipeline: the lesson whose order is used (%(default)s)",
    )
    parser.add_argument(
        "--patience", type=float, default=60.0, help="seconds to wait for a message (%(default)s)"
    )
    options = parser.parse_args(arguments)
    if options.ranks < 1 or options.steps < 1 or options.every < 1:
        parser.error("--ranks, --steps and --every are at least 1")
    if options.command == "join":
        if not options.asked or not options.here or options.here < 1:
            parser.error(
                "join: say where and how many, for example join 192.168.1.5:40123 --here 2"
            )
        return options
    if options.here is not None:
        check_here(parser, options)
    elif options.host != parser.get_default("host"):
        parser.error(
            "--host is for ranks on several machines: say with --here how many run on this one"
        )
    if options.wire == "mqtt":
        try:
            address = broker.address_of(options.broker)
            socket.create_connection((address.hostname, address.port), 5.0).close()
        except (OSError, ValueError) as error:
            port = options.broker.rpartition(":")[2]
            parser.error(
                f"there is no broker at {options.broker} ({error}); start one: mtd broker --open --port {port}, or mosquitto -p {port}"
            )
    if options.command == "tensor" and exact.HIDDEN % options.ranks:
        parser.error(f"tensor: --ranks has to divide the {exact.HIDDEN} hidden features")
    if options.command == "experts" and EXPERTS % options.ranks:
        parser.error(f"experts: --ranks has to divide the {EXPERTS} experts")
    if options.command == "server" and options.ranks < 2:
        parser.error("server: --ranks is at least 2, for a server and a worker")
    try:
        options.kill = [int(number) for number in options.kill.split("@")] if options.kill else None
    except ValueError:
        parser.error(f"--kill {options.kill}: say RANK@STEP, for example 1@5")
    if options.kill and (len(options.kill) != 2 or not 0 <= options.kill[0] < options.ranks):
        parser.error(
            f"--kill takes RANK@STEP, such as 1@20, with a rank from 0 to {options.ranks - 1}"
        )
    if options.kill and options.command != "train":
        parser.error("--kill: only train keeps a checkpoint")
    return options


def check_here(parser, options):
    """Ranks on several machines. The address becomes one that a socket listens at."""
    if not 1 <= options.here <= options.ranks:
        parser.error(f"--here {options.here}: from 1 to --ranks, which is {options.ranks}")
    if options.wire == "file" and options.here < options.ranks:
        parser.error("--wire file: the folder is on this machine only; take tcp or mqtt")
    name, _, port = options.host.partition(":")
    try:
        options.host = name, int(port or 0)
        socket.create_server(options.host).close()
    except (OSError, ValueError) as error:
        parser.error(f"--host {name}: this machine cannot listen there ({error}); see: hostname -I")
    if name in ("", "0.0.0.0"):
        parser.error(
            "--host: one address of this machine, at which the others reach it; see: hostname -I"
        )


def main(arguments=None):
    options = parsed(arguments)
    if options.command == "a-rank":
        return launch.live(json.loads(options.asked))
    if options.command == "lessons":
        for module in lessons():
            print(named(module))
        return 0
    if options.command == "join":
        return joined(options)
    if options.command == "examine":
        return examined(options)
    if options.command == "rpc":
        return called(options)
    return trained(options)


def called(options):
    try:
        print(launch.launch("rpc", options.ranks, vars(options))[0]["said"])
    except Failed as error:
        print(error, file=sys.stderr)
        return whose_fault(options)
    return 0


def joined(options):
    try:
        machines.join(options.asked, options.here)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def trained(options):
    has_own_model = options.command == "experts"
    try:
        found = launch.launch(options.command, options.ranks, vars(options))
        alone = found
        if options.ranks > 1:
            alone = launch.launch(
                options.command if has_own_model else "train",
                1,
                vars(options)
                | {"kill": None, "all_reduce": None, "every": options.steps + 1, "here": None},
            )
    except Failed as error:
        print(error, file=sys.stderr)
        return whose_fault(options)
    digests = {one["digest"] for one in found if one}
    print(
        f"{options.ranks} rank{'s' * (options.ranks > 1)} over {options.wire}: weights {found[0]['digest']}, "
        f"loss {found[0]['loss']:.6f}, {found[0]['right']} of 240 digits read rightly"
    )
    if len(digests) > 1:
        print(f"the ranks have different weights: {', '.join(sorted(digests))}", file=sys.stderr)
        return whose_fault(options)
    golden = exact.golden(options.steps, "golden_experts.txt" if has_own_model else "golden.txt")
    if golden not in (None, *digests):
        print(
            f"these are not the weights that {options.steps} steps should give: {golden}",
            file=sys.stderr,
        )
        return whose_fault(options)
    if options.ranks == 1:
        return 0
    if digests != {alone[0]["digest"]}:
        print(f"one rank alone has other weights: {alone[0]['digest']}", file=sys.stderr)
        return whose_fault(options)
    print("one rank alone has the same weights, bit for bit")
    return 0


def whose_fault(options):
    print("Whose code is it? Each lesson is asked a small question:", file=sys.stderr)
    if options.here not in (None, options.ranks):
        print("(Here, and not on the other machines: their folders have to be the same.)")
    options.here = None
    return examined(options) or 1


def examined(options):
    """0 if all lessons' answers are right."""
    for module, error in examine.alone():
        if error is not None:
            print(f"✘ {named(module)}\n{in_words(error, 'alone')}")
            return 1
        print(f"✔ {named(module)}")
    try:
        launch.launch(
            "examine",
            options.ranks,
            vars(options) | {"patience": min(options.patience, 5.0), "limit": LIMIT},
        )
    except Failed as error:
        whose = named(error.asked) if error.asked else "the ranks do not find each other"
        print(f"✘ {whose}, on {options.ranks} ranks\n{error}")
        return 1
    for module in examine.TOGETHER:
        print(f"✔ {named(module)}, on {options.ranks} ranks")
    print("all lessons answered rightly")
    return 0
