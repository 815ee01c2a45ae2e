"""One training script in seven worlds.

    alone           one rank, nothing around it
    simulator       ranks in virtual time
    tcp, file, mqtt processes of this host, over three wires
    faults          the simulator, with lost and doubled packets, a straggler and a death
    torch           the real one, by changed imports; processes over gloo

A script is any file with main(arguments) -> (losses, weights), lists with an entry for each step, like lesson
04's train.py; it takes over the world that is there, and `--checkpoint FILE --every N` let it go on after a
death. It is run as it is.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import minitorch_dist.distributed as dist
from minitorch_dist import cuda, sim
from minitorch_dist.distributed import journal
from minitorch_dist.distributed.groups import resolve
from minitorch_dist.distributed.journal import Journal
from minitorch_dist.distributed.prepared import use_links
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.launching import launch
from mtd.course import loading
from mtd.course.path import searched
from transports.clock import SYSTEM
from transports.faults.plans import Crash
from transports.quantities import in_words
from transports.virtual.clock import VirtualClock
from transports.virtual.network import Network

NAMES = ("alone", "simulator", "tcp", "file", "mqtt", "faults", "torch")
ALONE, SIMULATOR, TCP, FILE, MQTT, FAULTS, TORCH = NAMES
JOURNALS = (SIMULATOR, TCP, FILE, MQTT)  # the same program over four wires
NET = "sim://?latency=5us&rate=10Gb/s"
PRICES = Links(5 * 10**6, 800, 100)  # of a message, of a byte, of adding one; picoseconds
DETECTION = 200 * 10**6  # picoseconds until a death is noticed
PATIENCE = 300.0  # seconds for torch's processes, on a busy machine


@dataclass
class Lived:
    """The results of the script in one world."""

    name: str
    ranks: int
    losses: list[float]  # of rank 0, step by step; in `faults` of its last life
    weights: list[Any]  # after the last step, as the script tells them
    is_agreed: bool = True  # all ranks have the same
    journal: Journal | None = None
    seconds: float = 0.0
    story: list[str] = field(default_factory=list)  # what befell it
    skipped: str = ""  # why it was not tried

    @property
    def bytes_sent(self) -> list[int]:
        """Payloads of each rank."""
        sent = [0] * self.ranks
        for event in self.journal.events if self.journal is not None else []:
            if event.what == "send":
                sent[event.rank] += event.nbytes
        return sent


@dataclass(frozen=True)
class TrainingSetup:
    """The settings that are the same in all worlds."""

    script: Path
    arguments: tuple[str, ...]
    ranks: int
    folder: Path  # for what the worlds write
    seed: int = 0
    memory: int | None = None  # bytes of each rank's accelerator, in virtual time
    parts: tuple[tuple[str, str], ...] = ()  # of the training, and whose each is (see `finale`)


def play(script: str, arguments: Sequence[str]) -> tuple[list[float], list[Any]]:
    """Run the script's main, in a module of its own; losses, and the last weights.

    In all worlds a collective is chosen by the same prices, so that it goes the same way in all of them.
    """
    if dist.is_initialized():
        use_links(resolve(None), PRICES)
    losses, weights = module_of(script).main(list(arguments))
    return list(losses), list(weights[-1]) if weights else []


def module_of(script: str) -> ModuleType:
    path = Path(script)
    if not path.is_file():
        raise FileNotFoundError(f"there is no script {script!r}")
    module = loading.load(path, f"{path.stem}_in_a_world")
    if not hasattr(module, "main"):
        raise TypeError(
            f"{path.name} has no main(arguments) that returns (losses, weights), a list entry for each step, as "
            "lesson 04's train.py has"
        )
    return module


def quietly(script: str, arguments: Sequence[str]) -> tuple[list[float], list[Any]]:
    """As `play`, without its words; for processes."""
    with redirect_stdout(StringIO()):
        return play(script, arguments)


# ---------------------------------------------------------------------------------------- the worlds


def alone(setting: TrainingSetup) -> Lived:
    losses, weights = quietly(str(setting.script), setting.arguments)
    return Lived(ALONE, 1, losses, weights)


def simulated(setting: TrainingSetup) -> Lived:
    path = setting.folder / "simulator.mtd"
    if setting.memory is not None:
        return under_a_cap(setting, path)
    with redirect_stdout(StringIO()):
        words, clock = (str(setting.script), setting.arguments), VirtualClock(setting.seed)
        results = launch(play, setting.ranks, NET, words, journal=path, clock=clock)
    return _lived(SIMULATOR, setting, results, path)


def under_a_cap(setting: TrainingSetup, path: Path) -> Lived:
    """Each rank has an accelerator of so many bytes; and would one rank alone fit into it?"""
    words, cap = (str(setting.script), setting.arguments), setting.memory
    with redirect_stdout(StringIO()):
        report = sim.run(play, setting.ranks, words, net=NET, seed=setting.seed, journal=path, memory=cap)
        try:
            sim.run(play, 1, words, net=NET, memory=cap)
            alone = "one rank alone would fit, too"
        except cuda.OutOfMemoryError:
            alone = "one rank alone runs out of memory"
    lived = _lived(SIMULATOR, setting, report.results, path)
    peaks = [rank.peak_bytes or 0 for rank in report.ranks]
    lived.story = [f"each accelerator has {cap:,} bytes; the ranks hold {min(peaks):,} to {max(peaks):,}, and {alone}"]
    return lived


def over(wire: str) -> Callable[[TrainingSetup], Lived]:
    def run(setting: TrainingSetup) -> Lived:
        path = setting.folder / f"{wire}.mtd"
        address = f"file://{setting.folder}/wire" if wire == FILE else f"{wire}://"
        results = launch(quietly, setting.ranks, address, (str(setting.script), setting.arguments), journal=path)
        return _lived(wire, setting, results, path)

    return run


def weather() -> list[sim.Fault]:
    """Loss, duplicates, a straggler."""
    return [sim.drop(0.02), sim.duplicate(0.02), sim.slow(0, x=3, what="network")]


def faults_of(setting: TrainingSetup, end: int) -> list[sim.Fault]:
    """All that, and the death of the last rank at half time. It comes back."""
    found, last = weather(), setting.ranks - 1
    if last:
        half = end // 2 // 10**6
        found.append(sim.crash(last, at=f"{half}us", restart=f"{half + 50}us"))
    return found


def under_faults(setting: TrainingSetup) -> Lived:
    """The simulator, and all that may go wrong. A rank that loses a peer leaves, and joins the next world."""
    path, saved = setting.folder / "faults.mtd", setting.folder / "checkpoint.pt"
    script, story = str(setting.script), list[str]()
    arguments = ["--checkpoint", str(saved), "--every", "4", *setting.arguments]

    def program() -> Any:
        place, found = sim.restarts(), None
        while found is None:
            if not dist.is_initialized():
                dist.init_process_group()
            rank = dist.get_rank()
            try:
                found = play(script, arguments)
            except dist.PeerLost as error:
                story.append(f"rank {rank} lost rank {error.rank} and left its world")
                dist.destroy_process_group()
            gc.collect()  # what the life before held is in circles of references
        if place:
            story.append(f"rank {rank} came back and trained on")
        return found

    with redirect_stdout(StringIO()):
        words = (script, setting.arguments)
        undying = sim.run(play, setting.ranks, words, net=NET, seed=setting.seed, faults=weather())
        faults = faults_of(setting, undying.time)
        net = replace(Network.parse(NET), detection=DETECTION)
        report = sim.run(
            program, setting.ranks, net=net, seed=setting.seed, faults=faults, journal=path, memory=setting.memory
        )
    lived = _lived(FAULTS, setting, report.results, path)
    lived.story = [*told(faults), *story]
    return lived


def told(faults: Sequence[sim.Fault]) -> list[str]:
    """The weather in a sentence, and the death with its place and times."""
    ways = "2% of the packets are lost, 2% come twice, and rank 0 has a third of the network's speed"
    deaths = [
        f"rank {one.rank} dies at {in_words(one.at)} and comes back at {in_words(one.restart)}"
        for one in faults
        if isinstance(one, Crash) and one.restart is not None
    ]
    return [ways, *deaths]


def under_torch(setting: TrainingSetup) -> Lived:
    """The imports changed, and nothing else."""
    if importlib.util.find_spec("torch") is None:
        return Lived(TORCH, 0, [], [], skipped="torch is not installed: pip install torch==2.13.0")
    changed = setting.folder / "under_torch" / setting.script.name
    changed.parent.mkdir(exist_ok=True)
    changed.write_text(with_torch(setting.script.read_text("utf-8")), "utf-8")
    words = [sys.executable, "-m", "mtd.course.real_ranks", str(setting.ranks), str(changed), *setting.arguments]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    if ended.returncode:
        raise RuntimeError(f"{setting.script.name} failed under torch:\n{ended.stderr[-2000:]}")
    return _lived(TORCH, setting, json.loads(ended.stdout.splitlines()[-1]), None)


def with_torch(text: str) -> str:
    """The script, with torch for minitorch_dist in the lines that import."""
    return re.sub(r"^(\s*(?:import|from)\s+)minitorch_dist\b(.*)$", _changed, text, flags=re.MULTILINE)


def _changed(line: re.Match[str]) -> str:
    rest = line[2].removesuffix(" as torch") if line[2] == " as torch" else line[2]
    return f"{line[1]}torch{rest}"


def _lived(name: str, setting: TrainingSetup, results: Sequence[Any], path: Path | None) -> Lived:
    losses, weights = results[0]
    agreed = all(found[1] == weights for found in results)
    recorded = None if path is None else journal.read(path)
    return Lived(name, setting.ranks, list(losses), list(weights), agreed, recorded)


WORLDS: dict[str, Callable[[TrainingSetup], Lived]] = {
    ALONE: alone,
    SIMULATOR: simulated,
    TCP: over(TCP),
    FILE: over(FILE),
    MQTT: over(MQTT),
    FAULTS: under_faults,
    TORCH: under_torch,
}


def live(setting: TrainingSetup, names: Sequence[str] = NAMES, telling: Callable[[str], object] = str) -> list[Lived]:
    """Run the script in these worlds, one after the other; `telling` hears which is next."""
    found = []
    for name in names:
        telling(name)
        since = SYSTEM.now()
        with searched([setting.script.resolve().parent]):  # it may import modules that stand beside it
            one = WORLDS[name](setting)
        one.seconds = (SYSTEM.now() - since) / 10**12
        found.append(one)
    return found
