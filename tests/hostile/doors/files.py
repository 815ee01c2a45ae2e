"""Doors of files: what `save` and others write, checkpoints, journals, MNIST's files, networks, models, plans."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import os
import struct
import zlib
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from rich.console import Console

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import SerializationError, sim
from minitorch_dist.datasets import mnist
from minitorch_dist.distributed import checkpoint as dcp, journal
from minitorch_dist.distributed.checkpoint.folder import INDEX, CheckpointException
from minitorch_dist.distributed.checkpoint.index import SEAL
from minitorch_dist.distributed.codec import trust
from minitorch_dist.distributed.journal import JournalError
from minitorch_dist.distributed.schedules import BUILT_IN
from minitorch_dist.distributed.schedules.schedule import ScheduleError
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.pictures.terminal import painted
from minitorch_dist.serialization import container
from minitorch_dist.sim import nets
from minitorch_dist.sim.device import Product
from mtd import calibration
from mtd.cli import bars, plan_difference
from mtd.cli.page import Page
from mtd.laboratory import cases, claims, msccl, racing
from mtd.pages import page, trace
from mtd.planning import model_files, saved_plans, search
from mtd.planning.layouts import TrainingLayout
from mtd.planning.plan_cache import PlanCache
from mtd.planning.search import PlanRow
from mtd.refusals import CannotDo
from mtd.traces import chakra, chrome, replaying
from mtd.traces.chakra import COLLECTIVES, NodeKind, TraceNode
from mtd.traces.protobuf import TraceError
from tests.distributed.codec import values
from tests.hostile.bending import as_json, bend_plainly, bend_text, bend_tree, bytes_bender, fields_of, odd
from tests.hostile.door import Door
from tests.hostile.doors.objects import framed, pickled
from transports.plain_text import clean

# --------------------------------------------------------------------------------- safetensors, and ours


def make_safetensors(random: Random, size: int) -> bytes:
    arrays = {
        f"layer.{n}.weight": np.zeros((n % 3, 2), random.choice((np.float32, np.int8, np.bool_)))
        for n in range(size + 1)
    }
    file = io.BytesIO()
    container.write(file, arrays, {"format": "pt"})
    return file.getvalue()


def thing(random: Random, size: int) -> Any:
    """What a person might save."""
    x = mtd.arange(6.0).reshape(2, 3)
    parts: list[Any] = [
        x, x.t(), x[0], Parameter(mtd.ones(3)), np.arange(4), 1, 2.5, "text", None, True, b"bytes", (1, 2),
        {"a": {1, 2}}, mtd.float16, mtd.device("cpu"), math.inf, 10**30, [x, x], mtd.zeros(0, 2),
    ]  # fmt: skip
    return {f"key {n}": random.choice(parts) for n in range(size + 1)}


def make_saved(random: Random, size: int) -> bytes:
    file = io.BytesIO()
    mtd.save(thing(random, min(size, 600)), file)
    return file.getvalue()


def bend_saved(random: Random, data: bytes, pool: Any) -> bytes:
    """The header as a tree, and our description inside of it as another one."""
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        return bend_plainly(random, data, pool)
    drawn = random.random()
    if drawn < 0.15 or not isinstance(header, dict):
        return bend_plainly(random, data, pool)
    about = header.get("__metadata__")
    if drawn < 0.6 and isinstance(about, dict) and isinstance(about.get("minitorch_dist"), str):
        try:
            ours = json.loads(about["minitorch_dist"])
        except (ValueError, RecursionError):
            return bend_plainly(random, data, pool)
        text = as_json(random, bend_tree(random, ours))
        about["minitorch_dist"] = text.decode(errors="surrogatepass")
    else:
        header = bend_tree(random, header)
    if isinstance(about, dict) and random.random() < 0.9:  # else the checksums stop all of it
        about.pop(container.SEAL, None)
        about.pop(container.CHECKS if random.random() < 0.7 else "", None)
    text = as_json(random, header)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def read_saved(data: bytes) -> None:
    mtd.load(io.BytesIO(data))


# ------------------------------------------------------------------------------------------- checkpoints


class Kept:
    """Checkpoints that were saved once; each input is one of them, spoilt, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "spoilt"
        self.folder.mkdir()
        self.saved: list[tuple[bytes, dict[str, bytes]]] = []
        for number in range(3):
            place = folder / f"saved-{number}"
            dcp.save(self.state(1.0, number), checkpoint_id=place, no_dist=True)
            contents = {path.name: path.read_bytes() for path in place.iterdir()}
            self.saved.append((contents.pop(INDEX), contents))
        self.pickle = base64.b64encode(framed(pickled(values.Point(1, 2)))).decode()

    def state(self, fill: float, number: int) -> dict[str, Any]:
        state: dict[str, Any] = {
            "w": mtd.full((4, 3), fill),
            "deep": {"b": mtd.full((5,), fill), "n": 7, "t": (1, "x")},
            "list": [mtd.full((2,), fill), mtd.full((1,), fill)],
        }
        for n in range(number):
            state[f"more {n}"] = mtd.full((n, 2), fill)
        return state

    def make(self, random: Random, size: int) -> Any:
        number = random.randrange(3)
        index, contents = self.saved[number]
        return number, index, contents, False

    def bend(self, random: Random, given: Any, pool: Any) -> Any:
        number, index, contents, is_spoilt = given
        drawn = random.random()
        if drawn < 0.15 and contents:
            name = random.choice(list(contents))
            bent = bend_saved(random, contents[name], list(contents.values()))
            return number, index, {**contents, name: bent}, True
        if drawn < 0.2:
            return number, index, dict(list(contents.items())[1:]), is_spoilt
        try:
            tree = json.loads(index)
        except (ValueError, RecursionError):
            return number, bend_plainly(random, index, [index]), contents, is_spoilt
        if isinstance(tree, dict) and random.random() < 0.9:
            tree.pop(SEAL, None)
        if drawn < 0.35 and isinstance(tree, dict) and isinstance(tree.get("values"), dict):
            name = random.choice((*tree["values"], "w"))
            tree["values"][name] = random.choice(({"packed": self.pickle}, {"saved": self.pickle}, odd(random)))
            return number, json.dumps(tree).encode(), contents, is_spoilt
        return number, as_json(random, bend_tree(random, tree)), contents, is_spoilt

    def read(self, given: Any) -> None:
        """Load with pickle allowed everywhere else: a checkpoint has none, whatever it says."""
        number, index, contents, is_spoilt = given
        for path in self.folder.iterdir():
            path.unlink()
        (self.folder / INDEX).write_bytes(index)
        for name, data in contents.items():
            (self.folder / name).write_bytes(data)
        os.environ[trust.VARIABLE] = "1"
        try:
            state = self.state(math.nan, number)
            dcp.load(state, checkpoint_id=self.folder, no_dist=True)
        finally:
            os.environ[trust.VARIABLE] = "0"
        if not is_spoilt:
            for tensor in (state["w"], state["deep"]["b"], *state["list"]):
                assert not np.isnan(tensor.numpy()).any(), "a part was never loaded, without a word"


# ---------------------------------------------------------------------------------------------- journals


def train() -> None:
    """A program whose journal has every kind of line."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = mtd.ones(3)
    work = dist.all_reduce(x, async_op=True)
    sim.compute("1us")
    work.wait()
    if rank == 0 and size > 1:
        dist.send(x, 1, tag=3)
    elif rank == 1:
        dist.recv(x, 0, tag=3)
    dist.barrier()


class Runs:
    """Journals of real runs."""

    def __init__(self, folder: Path) -> None:
        self.lines: list[list[Any]] = []
        for size in (1, 2, 3, 5):
            place = folder / f"{size}.mtd"
            sim.run(train, size, journal=place)
            page.draw(journal.read(place).scene())  # what a page needs is imported now
            self.lines.append([json.loads(line) for line in place.read_text().splitlines()])

    def make(self, random: Random, size: int) -> bytes:
        lines = random.choice(self.lines)
        if size > 100:
            lines = lines[:2] + [{**line, "at": n} for n in range(size) for line in lines[2:3]]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def bend(self, random: Random, data: bytes, pool: Any) -> bytes:
        lines = data.splitlines(keepends=True)
        if random.random() < 0.1 or not lines:
            return bend_plainly(random, data, pool)
        at = random.randrange(len(lines))
        drawn = random.random()
        if drawn < 0.1:
            del lines[at]
        elif drawn < 0.25:
            lines.insert(random.randrange(len(lines)), lines[at])
        else:
            try:
                line = json.loads(lines[at])
            except (ValueError, RecursionError):
                return bend_plainly(random, data, pool)
            lines[at] = as_json(random, bend_tree(random, line)) + b"\n"
        return b"".join(lines)

    def read(self, data: bytes) -> None:
        run = journal.from_lines(data.splitlines(keepends=True))
        assert shown(repr(run)) and len(run.operations) >= 0 and len(run.messages) >= 0
        for event in run.events[:50]:
            assert shown(f"{event}") and event.name
        run.order.line_up()
        assert run.diff(run) is None
        run.scene()
        if len(run) < 200 and zlib.crc32(data) % 8 == 0:  # pictures take their time
            run.svg()
            page.draw(run.scene())
            trace.draw(run.scene())


# ------------------------------------------------------------------------------------ MNIST and networks


GZIP: Final = b"\x1f\x8b"


class Idx:
    """Plain files and packed ones, which are told apart by their first bytes here, and by their names there."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "images-idx3-ubyte"
        self.packed = folder / "images-idx3-ubyte.gz"

    def make(self, random: Random, size: int) -> bytes:
        shape = [random.randrange(4) for _ in range(random.randrange(1, 4))]
        head = b"\0\0\x08" + struct.pack(f">B{len(shape)}I", len(shape), *shape)
        data = head + random.randbytes(math.prod(shape))
        return gzip.compress(data, random.randrange(10)) if random.random() < 0.5 else data

    def bend(self, random: Random, data: bytes, pool: Any) -> bytes:
        if not data.startswith(GZIP) or random.random() < 0.6:
            return bytes_bender(lambda data: fields_of(">III", 4))(random, data, pool)
        try:
            return gzip.compress(self.bend(random, gzip.decompress(data), pool)) + random.choice((b"", b"", data))
        except (OSError, EOFError, zlib.error):
            return bend_plainly(random, data, pool)

    def read(self, data: bytes) -> None:
        path = self.packed if data.startswith(GZIP) else self.path
        path.write_bytes(data)
        found = mnist.read_idx(path)
        assert found.nbytes <= len(data) or path is self.packed


class Net:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "net.json"

    def make(self, random: Random, size: int) -> Any:
        calibration.save_network(
            self.path, random.randrange(10**7), Fraction(random.randrange(1, 99), 7), {"of": "here"}
        )
        return json.loads(self.path.read_text())

    def read(self, tree: Any) -> None:
        random = Random(repr(tree))
        self.path.write_bytes(as_json(random, tree) if random.random() < 0.3 else json.dumps(tree).encode())
        network = nets.load(self.path)
        route = network.topology.route(0, 1)
        assert route is not None


# ----------------------------------------------------------------------------- traces and plans


def make_chakra(random: Random, size: int) -> bytes:
    nodes = [
        TraceNode(
            number,
            f"node {number}",
            random.choice([*NodeKind]),
            tuple(random.sample(range(number), min(number, 2))),
            number,
            7 * number,
            random.choice(COLLECTIVES),
            random.choice((0, 1, 1 << 40)),
            (0, 1),
            1,
            number,
        )
        for number in range(size)
    ]
    return chakra.encoded(0, nodes)


def shown(text: str) -> str:
    """Fit for a terminal, though the words are those of a file."""
    assert clean(text) == text, f"{clean(text)} would be put on the terminal"
    return text


def read_chakra(data: bytes) -> None:
    replaying.in_order(chakra.decoded(data))


CONSOLE: Final = Console(file=io.StringIO(), width=80)


def read_chrome(given: Any) -> None:
    """A file with this JSON, packed or not, as `mtd show` reads and shows it."""
    scene = chrome.parsed(given)
    shown(painted(bars.gantt(scene, 80), scene, CONSOLE).plain)


def make_chrome(random: Random, size: int) -> Any:
    spans = [
        {
            "ph": random.choice("XMC") if n else "X",
            "pid": n % 3,
            "tid": n % 2,
            "ts": n / 2,
            "dur": n,
            "name": "aten::mm",
            "args": {"name": "rank 0", "what": "a product"},
        }
        for n in range(max(size, 1))
    ]
    return {"traceEvents": spans} if random.random() < 0.5 else spans


class PackedTrace:
    """The same in files that are packed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trace.json.gz"

    def make(self, random: Random, size: int) -> bytes:
        text = json.dumps(make_chrome(random, size)).encode()
        return gzip.compress(text, random.randrange(10)) if random.random() < 0.8 else text

    def bend(self, random: Random, data: bytes, pool: Any) -> bytes:
        return bytes_bender(lambda data: fields_of("<HBBI"))(random, data, pool)

    def read(self, data: bytes) -> None:
        self.path.write_bytes(data)
        chrome.read_chrome(self.path)


def make_plan(random: Random, size: int) -> Any:
    rows = [
        PlanRow(
            TrainingLayout(shards=2 + n, micro=2),
            1.5 + n,
            {"parameter": 1e9},
            True,
            {"computing": 0.5, "sending": 0.25, "waiting": 0.25},
            1e9,
            {"between nodes": 1e9},
        ).as_dict()
        for n in range(min(size, 20) + 1)
    ]
    return {
        "format": search.FORMAT,
        "model": "m",
        "cluster": ["H100: …", None, 2, "net", "Network()", [[1, 0.5]]],
        "layouts": rows,
    }


class Plans:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "plan.json"

    def read(self, tree: Any) -> None:
        self.path.write_text(json.dumps(tree), encoding="utf-8")
        plan = saved_plans.read(str(self.path))
        plan_difference.show(Page(CONSOLE, shown), plan, plan)


def make_cache(random: Random, size: int) -> Any:
    rows = {f"key {n}": row for n, row in enumerate(make_plan(random, size)["layouts"])}
    return {"format": search.FORMAT, "rows": rows, "seconds": {"a layer": [0.1, 0.2, 1e-3, 2.0]}}


def make_model(random: Random, size: int) -> str:
    lines = ['kind = "llama"', "layers = 80", "width = 8192", "heads = 64", "kv_heads = 8", "words = 128256",
             "sequence = 8_192", "batch = 0x20", "ffn = 28672", 'kernels = "single"', 'source = "a paper"']  # fmt: skip
    random.shuffle(lines)
    return "\n".join(lines)


def make_device(random: Random, size: int) -> str:
    lines = ["top = 0.65", "half = 16", 'memory = "80GB"', 'launch = "4us"', "contention = 1.2"]
    chosen = random.sample(lines, random.randrange(len(lines) + 1))
    peak = '[mine.peak]\nfloat32 = "20T"\nbfloat16 = 3e14'
    return "\n".join(["[mine]", random.choice(('bandwidth = "2TB/s"', "bandwidth = 2e12")), *chosen, peak])


class Settings:
    """Files of models and of devices, and the file in which plans are kept."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mine.toml"

    def model(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8", errors="surrogatepass")
        found = model_files.read(str(self.path))
        assert found.parameters > 0 and found.flops_per_token > 0

    def device(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8", errors="surrogatepass")
        found = sim.gpu(str(self.path))
        for dtype in found.peak:
            assert found.time(1000, dtype, [Product(1000, (2, 3, 4))]) >= found.launch
        assert found.name in str(found)

    def kept(self, tree: Any) -> None:
        self.path.write_text(json.dumps(tree), encoding="utf-8")
        found = PlanCache(self.path)
        for key in [*found.parts["rows"]]:
            row = found.get("rows", key)
            assert row is None or row.seconds > 0


# --------------------------------------------------------------------------------- algorithms, and what papers say


IN_XML: Final = [("all_reduce", "ring"), ("all_gather", "ring"), ("reduce_scatter", "ring"), ("all_to_all", "bruck")]


CASE: Final = cases.Case("cluster", "sim://?latency=2us&rate=100Gb/s", 4, "4KB")
ENTRY: Final = racing.RaceEntry("ring", 6, 24, 6144, 1000, 900)


class Algorithms:
    """MSCCL's files, and tables of claims about them."""

    def __init__(self, folder: Path) -> None:
        self.file, self.table, self.kept = (folder / name for name in ("mine.xml", "claims.csv", "lab.json"))
        ring = BUILT_IN["all_reduce", "ring"]
        self.kept_of = f"{ring} {racing.digest(ring, 'ring')}"

    def make(self, random: Random, size: int) -> str:
        return msccl.write(BUILT_IN[random.choice(IN_XML)], random.choice((2, 3, 4)) if size < 100 else 16)

    def read(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8", errors="surrogatepass")
        found = msccl.read(self.file)
        assert shown(str(found))

    def make_kept(self, random: Random, size: int) -> Any:
        rows = {
            json.dumps([self.kept_of, CASE.words, CASE.ranks, CASE.size]): [asdict(ENTRY)] * (1 + size % 3)
            for _ in range(min(size, 1))
        }
        return {"format": racing.FORMAT, "rows": rows}

    def read_kept(self, tree: Any) -> None:
        self.kept.write_text(json.dumps(tree), encoding="utf-8")
        results = racing.LabResults(self.kept, BUILT_IN["all_reduce", "ring"], "ring")
        for one in results.of(CASE, lambda: [ENTRY]):
            assert shown(one.algorithm) is not None and one.time + one.bound + one.sent >= 0

    def make_claims(self, random: Random, size: int) -> str:
        rows = [
            f"ring,all_reduce,{random.choice(('', '4', '8'))},64KB,{random.choice(('2*(p-1)', 'ceil(lg(p))', '14'))},,2*n,"
            for _ in range(size)
        ]
        return "\n".join([",".join(claims.COLUMNS), *rows])

    def read_claims(self, text: str) -> None:
        self.table.write_text(text, encoding="utf-8", errors="surrogatepass")
        ring = BUILT_IN["all_reduce", "ring"]
        for one in claims.compare(claims.read(self.table), ring, [4]):
            assert shown(one.claim.place) and one.counted >= 0


def doors(folder: Path) -> list[Door]:
    def room(name: str) -> Path:
        (folder / name).mkdir(exist_ok=True)
        return folder / name

    runs, idx, net = Runs(room("journal")), Idx(room("idx")), Net(room("net"))
    packed = PackedTrace(room("chrome"))
    algorithms = Algorithms(room("algorithms"))
    assert mtd.load is not None  # an object in a checkpoint is read by it, and it is imported when it is named
    kept, saved = Kept(room("checkpoint")), Plans(room("plans"))
    broken = (SerializationError,)
    return [
        Door("safetensors", make_safetensors, bend_saved, read_saved, broken),
        Door("saved", make_saved, bend_saved, read_saved, broken, weight=1.5),
        Door("checkpoint", kept.make, kept.bend, kept.read, (CheckpointException, SerializationError),
             folder=room("checkpoint"), has_large=False),
        Door("journal", runs.make, runs.bend, runs.read, (JournalError,), weight=1.5),
        Door("idx", idx.make, idx.bend, idx.read, (ValueError,),
             folder=room("idx"), has_large=False, weight=0.5),
        Door("network-file", net.make, bend_tree, net.read, (ValueError,), folder=room("net"),
             has_large=False, is_always_right=False, weight=0.5),
        Door("chakra", make_chakra, bytes_bender(), read_chakra, (TraceError,), weight=0.5),
        Door("chrome-trace", make_chrome, bend_tree, read_chrome, (TraceError,), weight=0.5),
        Door("chrome-file", packed.make, packed.bend, packed.read, (TraceError,), folder=room("chrome"), has_large=False, weight=0.5),
        Door("saved-plan", make_plan, bend_tree, saved.read, (ValueError,), folder=room("plans"),
             has_large=False, weight=0.5),
        Door("msccl", algorithms.make, bend_text, algorithms.read, (ScheduleError,), folder=room("algorithms"), weight=0.5),
        Door("claims", algorithms.make_claims, bend_text, algorithms.read_claims, (CannotDo,),
             folder=room("algorithms"), weight=0.5),
        Door("lab-results", algorithms.make_kept, bend_tree, algorithms.read_kept, (ValueError,),
             folder=room("algorithms"), has_large=False, weight=0.5),
        *[Door(name, make, bend, partial(read, Settings(room(name))), (ValueError,), folder=room(name),
               has_large=False, weight=0.5)
          for name, make, bend, read in (("model-file", make_model, bend_text, Settings.model),
                                         ("device-file", make_device, bend_text, Settings.device),
                                         ("plan-cache", make_cache, bend_tree, Settings.kept))],
    ]  # fmt: skip
