"""`mtd run SCRIPT`: a script on every rank of a world, simulated or real.

    mtd run --ranks 8 train.py
    mtd run --ranks 8 --net "sim://?latency=2us&rate=100Gb/s" --faults plan.txt --seed 7 train.py
    mtd run --ranks 8 --device h100 train.py                  # computing takes time as on an H100
    mtd run --ranks 128 --device h100 --shapes --fold --page step.html train.py
    mtd run --ranks 8 --device h100 --chakra step train.py    # writes step.0.et … for other simulators
    mtd run --net two_level:nodes=2,gpus=4,intra=2us/450GB/s,inter=5us/400Gb/s step.0.et    # such a trace again
    mtd run --ranks 8 --seeds 1000 train.py --epochs 3        # explore; shows the smallest failure
    mtd run --ranks 4 --net tcp:// train.py                   # real processes

Arguments after the script are the script's, as with torchrun.
A plan is a file with one fault in each line (`drop=0.01,src=0`, see `transports.faults.plans`), or its lines
with semicolons between them. Faults happen on simulated networks. A script that imports PyTorch runs on PyTorch.
In a folder of the course a script may say `from ring import all_reduce`: yours, once it has no blanks, else ours.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from minitorch_dist import sim
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.launching import launch
from minitorch_dist.sim import hardship, nets
from mtd import traces
from mtd.cli import page, scripts
from mtd.cli.lessons.commands import lessons_for
from mtd.cli.parser import Parser, near
from mtd.free_ports import free_port
from mtd.pages import whole_files
from mtd.refusals import CannotDo, refusing
from transports import registry
from transports.faults import plans

PLAIN: Final = "sim://"
OF_PROGRAMS: Final = (  # options that say nothing to a trace
    "ranks", "algorithm", "faults", "hard", "seeds", "sizes", "unreliable", "device", "shapes", "fold", "journal", "arguments",
)  # fmt: skip


def configure(parser: Parser) -> None:
    parser.takes("""
        --ranks RANKS: int        how many (4)
        --net NET = sim://        sim, queue, tcp, file, mqtt, an address, or a file of mtd calibrate (%(default)s)
        --algorithm ALGORITHM     how collectives are carried out: ring, chain:pieces=4, or a file of yours, mine.py
        --faults FAULTS           a file of faults, or their texts with ; between them
        --seed SEED: int          of chances, and of the order of ranks
        --hard HARD = ""          hardships by letter (ojrwahglbks; see sim.hardship)
        --seeds SEEDS: int        explore so many seeds, up to the first failure
        --sizes SIZES: numbers    with --seeds: other numbers of ranks to try, too, like 2,3,5
        --unreliable              what is dropped is gone
        --device DEVICE           what simulated ranks compute on, like h100 (computing takes no time)
        --shapes                  tensors have shapes and no numbers, and take no memory
        --fold                    with --shapes: ranks that do the same run the program once
        --page FILE               write a page: timelines, memory, and what the time is spent on
        --chakra NAME             write execution traces of MLCommons Chakra, NAME.0.et and so on
        --journal JOURNAL         write down what the ranks do, for mtd show and mtd diff
        --timeout TIMEOUT: float  seconds that the run may take; virtual ones where it is simulated
    """)
    scripts.add_script(parser)
    parser.needs("--sizes", "--seeds")
    parser.needs("--unreliable", "--faults")
    parser.needs("--fold", "--shapes")
    parser.excludes("--seeds", "--seed", "--hard", "--journal", "--device", "--shapes", "--fold", "--page", "--chakra")
    parser.excludes("--page", "--journal")
    parser.set_defaults(run=run, epilog="mtd run train.py --ranks 4 --net sim")


def run(arguments: argparse.Namespace) -> int:
    if arguments.script.endswith(".et"):
        return _run_trace(arguments)
    arguments.ranks = 4 if arguments.ranks is None else arguments.ranks
    arguments.sizes = arguments.sizes or []
    with refusing():
        if min([arguments.ranks, *arguments.sizes]) < 1:
            raise ValueError(f"a world has at least one rank, not {min([arguments.ranks, *arguments.sizes])}")
        scripts.check(arguments.script)
        scripts.warn_of_strays(arguments)
        faults = scripts.faults_of(arguments.faults)
        plans.check(faults, arguments.ranks)
        hardship.check(arguments.hard)
        arguments.net = address_of(arguments.net)
        arguments.device = _device_of(arguments)
        if arguments.algorithm:
            choice.prefer(arguments.algorithm)
    with lessons_for(arguments.script), scripts.environment_of_ranks(arguments.script, arguments.fold):
        return _play(arguments, faults)


def _play(arguments: argparse.Namespace, faults: list[plans.Fault]) -> int:
    program = scripts.program(arguments.script, arguments.arguments)
    if _is_real(arguments):
        if faults:
            raise CannotDo(f"faults happen on simulated networks only; say --net sim, not {arguments.net}")
        return _run_for_real(arguments)
    plan = sim.Plan(tuple(faults), reliable=not arguments.unreliable)
    if arguments.seeds is not None:
        return _explore(arguments, plan, program)
    options = {name: getattr(arguments, name) for name in ("net", "seed", "journal", "device", "shapes", "fold")}
    simulated = partial(
        sim.run,
        program,
        arguments.ranks,
        **options,
        faults=plan if plan.faults else (),
        hardships=arguments.hard,
        limit=arguments.timeout,
        timelines=_is_drawn(arguments),
    )
    return _tell(arguments, scripts.attempted(simulated))


def _is_drawn(arguments: argparse.Namespace) -> bool:
    return arguments.page is not None or arguments.chakra is not None


def _tell(arguments: argparse.Namespace, report: sim.Report[Any] | None) -> int:
    if report is None:
        return 1
    print(report)
    if arguments.device is not None and arguments.net == PLAIN:
        print(_plain(arguments.ranks))
    try:
        _write(arguments, report)
    except OSError as error:
        page.refuse("run", error)
        return 1
    return 0


def _plain(ranks: int) -> str:
    """The devices compute as the real ones do, and messages take the time of a network that they would not have."""
    nodes, gpus = -(-ranks // 8), min(ranks, 8)
    return (
        f"The network is a plain one, {PLAIN}, since --net was not said. Nodes of 8 with NVLink between them are\n"
        f"--net two_level:nodes={nodes},gpus={gpus},intra=2us/450GB/s,inter=5us/400Gb/s"
    )


def _write(arguments: argparse.Namespace, report: sim.Report[Any]) -> None:
    if arguments.page is not None:
        report.save_page(arguments.page, arguments.script)
        print(f"\n{report.timelines}\nwrote {arguments.page}")
    if arguments.chakra is not None:
        assert report.timelines is not None
        paths = traces.write_chakra(traces.nodes_of(report.timelines), arguments.chakra)
        print(f"wrote {paths[0]} to {paths[-1]}")


def _run_trace(arguments: argparse.Namespace) -> int:
    """Chakra's nodes, on the network of `--net`. Their number of files is that of the ranks."""
    try:
        with refusing():
            for word in OF_PROGRAMS:
                if getattr(arguments, word):
                    raise ValueError(f"--{word} goes with a script, and {arguments.script} is a trace")
            arguments.net = address_of(arguments.net)
            _device_of(arguments)
            nodes = traces.read_chakra(re.sub(r"\.\d+\.et$", "", arguments.script))
            report = traces.run_trace(
                nodes, net=arguments.net, seed=arguments.seed, limit=arguments.timeout, timelines=_is_drawn(arguments)
            )
    except CannotDo:
        raise
    except Exception as error:
        print(scripts.shown(error), file=sys.stderr)
        return 1
    return _tell(arguments, report)


def _device_of(arguments: argparse.Namespace) -> sim.Device | None:
    """The known device that `--device` names."""
    for word in ("device", "shapes", "fold", "page", "chakra", "seed", "hard", "seeds"):
        if getattr(arguments, word) and _is_real(arguments):
            raise ValueError(f"--{word} is simulated, but --net {arguments.net} is real")
    if arguments.page is not None:
        whole_files.check(arguments.page, whole_files.PAGE, "page")
    if arguments.journal is not None:
        whole_files.check(arguments.journal)
    if arguments.chakra is not None:
        whole_files.check(f"{arguments.chakra}.0.et")
    return None if arguments.device is None else sim.gpu(arguments.device)


def _is_real(arguments: argparse.Namespace) -> bool:
    return "://" in arguments.net and registry.scheme_of(arguments.net) != "sim"


def address_of(text: str) -> str:
    """`tcp` for `tcp://`; a description or a file of a network as it is. ValueError if it is neither."""
    if text in registry.known():
        return f"{text}://"
    if "://" in text:
        registry.find(text)
    elif text.isalpha():
        known = [*registry.known(), "two_level"]
        raise ValueError(f"no network is called {text!r}{near(text, known)}; there are {', '.join(known)}")
    else:
        nets.read(text)
    return text


def _explore(arguments: argparse.Namespace, plan: sim.Plan, program: partial[None]) -> int:
    found = sim.survey(
        program,
        arguments.ranks,
        arguments.seeds,
        plan if plan.faults else sim.chaos(),
        net=arguments.net,
        timeout=arguments.timeout,
        world_sizes=arguments.sizes,
    )
    if found.failure is None:
        print(found)
        return 0
    small = found.failure.minimise()
    print(small.explain().rpartition("\n")[0], file=sys.stderr)
    words = " ".join([arguments.script, *arguments.arguments])
    net = "" if arguments.net == "sim://" else f" --net '{arguments.net}'"
    print(f"again: mtd replay{net} '{small.replay_token}' {words}", file=sys.stderr)
    return 1


def _run_for_real(arguments: argparse.Namespace) -> int:
    play: Callable[..., None] = scripts.play
    given: tuple[Any, ...] = arguments.script, arguments.arguments
    if scripts.imports_torch(Path(arguments.script), set()):
        if registry.scheme_of(arguments.net) == "queue":
            raise CannotDo("ranks of PyTorch's programs are processes: say --net tcp, or --net sim to simulate them")
        play, given = scripts.play_torchs, (*given, free_port(), arguments.net)  # for the store of PyTorch's
    real = partial(
        launch, play, arguments.ranks, arguments.net, given, limit=arguments.timeout, journal=arguments.journal
    )
    return 1 if scripts.attempted(real) is None else 0
