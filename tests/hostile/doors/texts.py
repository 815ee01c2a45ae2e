"""Doors of texts: addresses, quantities, plans of faults, tokens, and what a command line says."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from minitorch_dist.distributed import run
from minitorch_dist.distributed.elastic.rendezvous import places, state
from minitorch_dist.distributed.elastic.rendezvous.exceptions import RendezvousStateError
from minitorch_dist.distributed.elastic.rendezvous.state import JobNode, JobRules, JobState, StateEntry
from minitorch_dist.sim import nets, replay_token
from minitorch_dist.tensors import devices
from mtd.planning import layout_words, model_files
from tests.hostile.bending import as_json, bend_text, bend_tree
from tests.hostile.door import Door
from transports import quantities, registry
from transports.faults import plans
from transports.mqtt_protocol import address as mqtt
from transports.shared_file import places as file_places
from transports.sockets import endpoints

Read = Callable[[str], Any]

SPANS = ("2us", "1.2ms", "3s", "0ps", "64KB", "100Gb/s", "12.5GB/s", "1MiB", "1e3ns", "8 b/s", "17")
FAULTS = (
    "drop=0.01,src=0", "delay=1ms,p=0.1", "drop=2>3#17", "partition=0+1|2+3,at=2ms,heal=5ms", "clog=4,in",
    "slow=3,x=2.5", "crash=5,at=1200us,restart=4ms", "reorder=0.05", "jitter=20us", "cut=0>1#3",
    "slow=1,x=0.5,what=network", "duplicate=0.01,at=1s,until=2s",
)  # fmt: skip
TOKENS = (
    "mtd1:seed=412;ranks=8;hard=ojr;drop=2>3#17;partition=0+1|2+3,at=2ms,heal=5ms;event=117",
    "mtd1:seed=1;ranks=2",
    "mtd1:seed=9;ranks=3;unreliable;choices=0.1.2;event=4",
)
NETS = (
    "sim://?latency=5us&rate=100Gb/s&wire=0s&eager=64KB&window=1MB",
    "sim://",
    "sim://?detection=2s",
    "two_level:nodes=4,gpus=8,intra=2us/150GB/s,inter=5us/100Gb/s,nic=per_node",
)
TCP = ("tcp://localhost:29500?rank=0&world_size=2", "tcp://[::1]:80", "tcp://h?certificate=a&key=b")
FILE = ("file:///tmp/x?mode=append&segment=65536", "file:///tmp/x?ring=8192&board=64", "file://")
MQTT = ("mqtt://me:word@host:1883/run?chunk=131072&broker_timeout=60&tls=1", "mqtt://h/run?ca=/x.pem", "mqtt://")
SCHEMES = ("queue://", "tcp://h:1", "file:///x", "mqtt://h", "gloo", "sim")
NODES = ("host:29400", "[::1]:29400", "host", "::1", "")
LAYOUTS = (
    "fsdp=8 tp=2 pp=4 micro=2 accumulate=2 recompute=full zero=3",
    "dp=64,zero=1,micro=1",
    "fsdp=64 precision=fp8",
    "tp=4 pp=4 vp=2 dp=4 accumulate=8 recompute=selective sums=whole",
    "fsdp=16 cp=4 micro=1",
)
DEVICES = ("cpu", "cuda:0", "cuda", "cuda:17", "meta", "mps:0")


MODEL = model_files.read("llama3-8b")


def chosen(texts: tuple[str, ...]) -> Callable[[Random, int], str]:
    return lambda random, size: random.choice(texts)


def quantity(text: str) -> None:
    """At least one of the three understands what people write."""
    errors = []
    for read in (quantities.span, quantities.amount, quantities.byte_time):
        try:
            found = read(text)
        except ValueError as error:
            errors.append(error)
        else:
            assert found >= 0
            if read is quantities.span:
                quantities.in_words(int(found))
    if len(errors) == 3:
        raise errors[0]


def fault(text: str) -> None:
    found = plans.parse(text)
    assert plans.parse(str(found)) == found, f"{found} is not read back as it is written"
    plans.check([found], 64)


def token(text: str) -> None:
    found = replay_token.parse(text)
    assert replay_token.parse(str(found)) == found, f"{found} is not read back as it is written"


def network(text: str) -> None:
    if not text.startswith(("sim:", "two_level:")):
        raise ValueError("a file's name")
    nets.read(text)


def broker(text: str) -> None:
    found = mqtt.parse(text)
    assert found.shown and isinstance(mqtt.shown(text), str)


def scheme(text: str) -> None:
    if "mpi" not in text.lower():  # which wants a package that few have
        registry.find(text)


def layout(text: str) -> None:
    model, found = layout_words.read(text, MODEL, 64)
    assert found.ranks == 64 and model.batch % (found.data * found.micro) == 0


def device(text: str) -> None:
    found = devices.device(text)
    assert devices.device(str(found)) == found


# ------------------------------------------------------------------------------------------- mtdrun


OPTIONS = (
    ["--standalone", "--nproc-per-node", "4", "train.py", "--lr", "0.1"],
    ["--nnodes", "1:4", "--rdzv-backend", "c10d", "--rdzv-endpoint", "host:29400", "--max-restarts", "3", "t.py"],
    ["--nnodes=2", "--node-rank=1", "--master-addr=localhost", "--master-port=29500", "-m", "package.module"],
    ["--local-addr", "host", "--log-dir", "logs", "t.py"],
    ["--rdzv-conf", "join_timeout=600,last_call_timeout=30", "--monitor-interval", "0.5", "t.py"],
    ["--shutdown-timeout", "5", "--net", "tcp", "t.py"],
)


def make_options(random: Random, size: int) -> list[str]:
    return list(random.choice(OPTIONS))


def bend_options(random: Random, given: list[str], pool: Any) -> list[str]:
    at = random.randrange(len(given))
    words = [bend_text(random, given[at], [word for other in pool for word in other])]
    if random.random() < 0.1:
        words = random.choice(([], [given[at]] * 2, ["--nosuch"], [""]))
    return [*given[:at], *words, *given[at + 1 :]]


def command_line(given: list[str]) -> None:
    """What mtdrun makes of its options before it starts anything."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        found = run.parse_args(given)
        run.job_of(found)


# ------------------------------------------------------------------- what stands in a rendezvous' store


def make_state(random: Random, size: int) -> Any:
    nodes = tuple(JobNode(f"n{n}", "host", 2, n) for n in range(min(size, 60)))
    found = JobState(JobRules(1, 4, 2), random.choice((state.GATHERING, state.WORKING)), 1, nodes, nodes[:1], ("n0",))
    return json.loads(StateEntry("me", found).packed())


def read_state(tree: Any) -> None:
    with contextlib.suppress(RendezvousStateError):  # what no tree can hold
        state.unpacked(as_json(Random(repr(tree)), tree))
    found = state.unpacked(json.dumps(tree).encode())
    assert state.unpacked(found.packed().encode()) == found and f"{found.state}"


def doors(folder: Path) -> list[Door]:
    wrong = (ValueError,)

    def words(name: str, texts: tuple[str, ...], read: Read, *also: type[BaseException]) -> Door:
        return Door(name, chosen(texts), bend_text, read, wrong + also, has_large=False, weight=0.5, is_of_others=False)

    for name in (*registry.BUILT_IN, "no such scheme"):  # a fixed table leads to these modules
        with contextlib.suppress(ValueError, ImportError):
            registry.find(name)
    return [
        words("quantity", SPANS, quantity),
        words("fault", FAULTS, fault),
        words("token", TOKENS, token),
        words("network", NETS, network),
        words("address-tcp", TCP, endpoints.split),
        words("address-file", FILE, file_places.parse),
        words("address-mqtt", MQTT, broker),
        words("address-nodes", NODES, places.parsed),
        words("layout", LAYOUTS, layout),
        words("scheme", SCHEMES, scheme),
        words("device", DEVICES, device, RuntimeError),
        Door(
            "mtdrun-options",
            make_options,
            bend_options,
            command_line,
            (SystemExit, ValueError, RuntimeError, AssertionError),
            has_large=False,
            weight=0.3,
            is_of_others=False,
        ),
        Door("rendezvous-state", make_state, bend_tree, read_state, (RendezvousStateError,), weight=0.5),
    ]
