"""torchrun: start the workers of this node, and again when one fails.

    python -m minitorch_dist.distributed.run --standalone --nproc-per-node 4 train.py --lr 0.1
    mtdrun --nnodes 1:4 --rdzv-backend c10d --rdzv-endpoint host:29400 --max-restarts 3 train.py

The options are torchrun's: with dashes or underscores, shortened as long as they are unambiguous, and
from the environment as PET_<NAME>. `--net` and `--algorithm` are ours. Exit code 1 where a worker failed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import uuid
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from minitorch_dist.distributed.elastic.agent.agent import ElasticAgent, SignalException
from minitorch_dist.distributed.elastic.agent.job import Job
from minitorch_dist.distributed.elastic.multiprocessing.errors import ChildFailedError, record, say
from minitorch_dist.distributed.elastic.multiprocessing.workers import LOCAL_RANK, WorkerProgram
from minitorch_dist.distributed.elastic.rendezvous import places
from minitorch_dist.distributed.elastic.rendezvous.membership import Patience
from minitorch_dist.distributed.elastic.rendezvous.places import StorePlace
from minitorch_dist.distributed.elastic.rendezvous.state import JobRules
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.inventory.release import __version__
from minitorch_dist.tensors import devices
from transports import registry
from transports.errors import DistError

BACKENDS = ("static", "c10d")
WAITS = tuple(each.name for each in fields(Patience))
OF_TORCH = frozenset({"read_timeout", "rank", "store_type", "heartbeat_timeout"})

# name, short name, type, default, help; a type of bool is a switch
OPTIONS: list[tuple[str, str, type, Any, str]] = [
    ("nnodes", "", str, "1:1", "number of nodes, or MIN:MAX"),
    ("nproc-per-node", "", str, "1", "workers of this node: a number, auto, cpu or gpu"),
    ("node-rank", "", int, 0, "this node's place, for the static backend"),
    ("standalone", "", bool, False, "one node, on a free port; overrides all --rdzv options"),
    ("rdzv-backend", "", str, "static", "how nodes meet: static or c10d"),
    ("rdzv-endpoint", "", str, "", "where they meet: host[:port] of one of them"),
    ("rdzv-id", "", str, "none", "the job's name; two jobs at one endpoint need two"),
    ("rdzv-conf", "", str, "", "seconds to wait: join_timeout=600,last_call_timeout=30,…"),
    ("master-addr", "", str, "127.0.0.1", "host of node 0, for the static backend"),
    ("master-port", "", int, None, "port there (default 29500; on one node any that is free)"),
    ("local-addr", "", str, None, "this node's name for the others"),
    ("max-restarts", "", int, 0, "how often all workers are started again after a failure"),
    ("monitor-interval", "", float, 0.1, "seconds between two looks at the workers"),
    ("shutdown-timeout", "", int, None, "seconds between asking workers to end and killing them (30)"),
    ("module", "m", bool, False, "run a module, as python -m does"),
    ("no-python", "", bool, False, "run a program that is no Python script"),
    ("log-dir", "", str, None, "keep error files under this folder"),
    ("algorithm", "", str, "", "how collectives are carried out: ring, chain:pieces=4, or mine.py"),
    ("net", "", str, "", "what `gloo`, `nccl` or no backend at all means: tcp, file, mqtt://…"),
]
MORE = (
    "PyTorch's torchrun has more options than there are here, such as --tee and --redirects. "
    "`mtdrun … > FILE 2>&1` keeps what all workers print"
)
FORMER = {"net": ("--transport",)}  # names of before, which are still taken


def get_args_parser(prog: str | None = None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog, description="Start the workers of this node, and again when one fails (torchrun)."
    )
    parser.add_argument("--version", action="version", version=f"minitorch_dist {__version__}")
    for name, short, kind, default, text in OPTIONS:
        spellings = dict.fromkeys([f"--{name}", f"--{name.replace('-', '_')}"])
        names = [*([f"-{short}"] if short else []), *spellings]
        variable = f"PET_{name.replace('-', '_').upper()}"
        given = os.environ.get(variable, os.environ.get("PET_TRANSPORT") if name == "net" else None)
        if kind is bool:
            is_on = given is not None and given.strip() not in ("", "0", "false", "False")
            parser.add_argument(*names, action="store_true", default=is_on, help=text)
        else:
            action = parser.add_argument(
                *names,
                type=kind,
                default=default if given is None else given,
                help=text,
                metavar=name.rpartition("-")[2].upper(),
            )
            parser._option_string_actions |= dict.fromkeys(FORMER.get(name, ()), action)
    parser.add_argument("training_script", help="the script, module or program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    return known_options(get_args_parser(), args)


def known_options(parser: argparse.ArgumentParser, args: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line; one that is not here ends the program with what to do instead."""
    options, unknown = parser.parse_known_args(args)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}. {MORE}")
    return options


# ------------------------------------------------------------------------- what the options mean


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """`2` or `1:4`."""
    found = re.fullmatch(r"(\d+)(?::(\d+))?", nnodes)
    if found is None:
        raise ValueError(f"--nnodes {nnodes!r} is neither a number nor MIN:MAX")
    fewest, most = int(found[1]), int(found[2] or found[1])
    if not 0 < fewest <= most:
        raise AssertionError(f"min_nodes must be > 0 and <= max_nodes, got min_nodes={fewest}, max_nodes={most}")
    return fewest, most


def determine_local_world_size(nproc_per_node: str) -> int:
    """How many workers `4`, `auto`, `cpu` or `gpu` (simulated ones too) are."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    words = {"cpu": cpus, "gpu": devices.count(), "auto": devices.count() or cpus}
    if nproc_per_node == "gpu" and devices.count() == 0:
        raise ValueError("Cuda is not available. (Simulated devices: MINITORCH_DIST_DEVICES=4x80GB)")
    if nproc_per_node not in words and not nproc_per_node.removeprefix("-").isdecimal():
        raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")
    number = words[nproc_per_node] if nproc_per_node in words else int(nproc_per_node)
    if number < 1:
        raise ValueError(f"--nproc-per-node is {number}, but a node has at least one worker")
    return number


def parse_conf(text: str) -> dict[str, str]:
    """`key=value,key=value`, with torch's keys for its own store among them, which change nothing here."""
    pairs = [pair.strip().partition("=") for pair in text.split(",") if pair.strip()]
    conf = {key: value for key, _, value in pairs if value}
    names = ["is_host", "timeout", *WAITS]
    if len(conf) < len(pairs) or (set(conf) - {*names, *OF_TORCH}):
        raise ValueError(f"--rdzv-conf does not know {text}; it is KEY=SECONDS,… of {', '.join(names)}")
    return conf


def patience_of(conf: dict[str, str]) -> Patience:
    """How long to wait; `timeout` is torch's name for the time to join."""
    waits = {"join_timeout": conf["timeout"]} if "timeout" in conf else {}
    waits |= {name: conf[name] for name in WAITS if name in conf}
    return Patience(**{name: float(value) for name, value in waits.items()})


def place_of(args: argparse.Namespace, most: int, conf: dict[str, str]) -> tuple[StorePlace, str, int]:
    """Where the nodes meet, the job's name, and this node's given place (-1: none)."""
    is_static = args.rdzv_backend == "static"
    alone = is_static and not args.rdzv_endpoint and args.master_port is None and most == 1
    if args.standalone or alone:
        return StorePlace("localhost", 0, keeps=True), str(uuid.uuid4()), -1
    if args.rdzv_backend not in BACKENDS:
        raise ValueError(f"--rdzv-backend {args.rdzv_backend} is not offered; there are {', '.join(BACKENDS)}")
    if is_static:
        if not 0 <= args.node_rank < most:
            raise ValueError(f"--node-rank is {args.node_rank}, but there are {most} nodes: 0 to {most - 1}")
        endpoint = args.rdzv_endpoint or args.master_addr.strip("[]")
        host, port = places.parsed(endpoint, 29500 if args.master_port is None else args.master_port)
        if args.node_rank == 0 and not places.is_here(host):
            say(
                f"this is node 0, which keeps the store, but {host} is no address of this machine. If node 0 is another "
                "machine, give this one its --node-rank, or give all of them --rdzv-backend=c10d"
            )
        return StorePlace(host, port, keeps=args.node_rank == 0), args.rdzv_id, args.node_rank
    host, port = places.parsed(args.rdzv_endpoint)
    said = conf.get("is_host", "").lower()
    keeps = {"": None, "1": True, "true": True, "0": False, "false": False}.get(said)
    if port == 0 and places.is_here(host):
        keeps = True
    return StorePlace(host, port, keeps), args.rdzv_id, -1


def program_of(args: argparse.Namespace) -> WorkerProgram:
    if args.no_python and args.module:
        raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
    kind = "command" if args.no_python else "module" if args.module else "script"
    own = [] if getattr(args, "use_env", True) else [f"--local-rank={LOCAL_RANK}"]
    return WorkerProgram(kind, args.training_script, [*own, *args.training_script_args])


def job_of(args: argparse.Namespace) -> Job:
    """The job that a command line describes."""
    fewest, most = parse_min_max_nnodes(args.nnodes)
    if args.max_restarts < 0:
        raise AssertionError("max_restarts must be >= 0")
    workers = determine_local_world_size(args.nproc_per_node)
    conf = parse_conf(args.rdzv_conf)
    place, run_id, node_rank = place_of(args, most, conf)
    grace = args.shutdown_timeout
    if grace is None:
        grace = int(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30"))
    if args.net:
        registry.find(args.net)  # or ValueError
    if args.algorithm:
        choice.prefer(args.algorithm)
    return Job(
        program=program_of(args),
        place=place,
        rules=JobRules(fewest, most, args.max_restarts),
        workers=workers,
        run_id=run_id,
        node_rank=node_rank,
        local_addr=args.local_addr,
        patience=patience_of(conf),
        monitor_interval=max(0.001, args.monitor_interval),
        log_dir=args.log_dir,
        shutdown_timeout=grace,
        transport=args.net,
    )


def start(job: Job) -> None:
    if "OMP_NUM_THREADS" not in os.environ and job.workers > 1:
        os.environ["OMP_NUM_THREADS"] = "1"  # several workers share the cores; torchrun's default
    ElasticAgent(job).run()


def main(args: Sequence[str] | None = None) -> None:
    """The command: a failure is a report and an exit code, not a traceback of ours."""
    finish(parse_args(args))


def finish(args: argparse.Namespace) -> None:
    try:
        job = job_of(args)
    except (ValueError, AssertionError, RuntimeError) as error:
        say(str(error))
        sys.exit(2)
    try:
        record(start)(job)
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except SignalException as stop:
        say(str(stop))
        sys.exit(128 + stop.sigval)
    except DistError as error:  # also those of rendezvous
        say(f"{type(error).__name__}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
