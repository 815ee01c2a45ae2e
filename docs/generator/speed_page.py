"""docs/speed.md: the benchmarks, made of the rows in docs/speed.json. `mtd bench … --out docs/speed.json` measures rows anew."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Final, NamedTuple

from links import ROOT

DATA: Final = ROOT / "docs" / "speed.json"
TOP = """# How fast it is

Made by `mtd dev build` of [the measured rows](speed.json), each with its date and its machine. `mtd bench … --out docs/speed.json` measures
rows again, and leaves the others. The sides of a benchmark take turns in one run, with one thread each, and the tables have medians. A ratio
is the median of the ratios of neighbouring turns. torch is 2.13.0 on the CPU with gloo (`pip install torch==2.13.0`).
"""


class Section(NamedTuple):
    """One benchmark on the page: its title, and what is to be said of its rows."""

    bench: str
    title: str
    about: str


SECTIONS: Final = (
    Section("nn", "Training steps", """\
Milliseconds a step. A ratio below 1 means that this library is faster than torch. *Reach* is the goal: about 1, and
0.6 to 0.8 where tensors are so small that calls cost more than arithmetic. Sizes are those of public programs
(`mtd/cli/bench/program_steps.py`). These goals are missed:

* nanoGPT: two thirds of the step are matrix products, at torch's rate. torch's gelu and layer norm pass once over their input. Ours are
  some twenty calls of numpy.
* The LSTM: its products have 20 rows, and torch's library packs the weights in advance. numpy's does not.
* DCGAN: most of its convolutions take 1.2 to 1.4 of oneDNN's time ([design](design/tensors.md)).
* The toy MLP, the small LSTM and the actor-critic: the time is spread over many small operations, some 1,700 in the last. Most of it
  is Python's own.

numpy's OpenBLAS chooses its kernels by itself here. `mtd bench nn --keep-pins` keeps a choice that the environment makes."""),
    Section("comm", "Collectives", """\
Two processes; gloo and Open MPI take turns with us. The ratios are the smallest and the largest over all sizes from 8 B to 64 MB. Open MPI
is faster in most cells. `--ranks 2,4` chooses numbers of ranks, and `--net mqtt,mqtt://127.0.0.1:1883` measures brokers, our own and another one."""),
    Section("rpc", "Remote calls", """\
Two processes over TCP, beside torch.distributed.rpc with TensorPipe. The echo of 16 MB depends most on what else the machine does: most of
its time is the system's copying of 32 MB. `mtd bench rpc --long` measures the pipeline of `programs/pipeline_resnet50.py`, which is mostly
matrix products."""),
    Section("train", "Data parallel training", """\
Samples a second of two processes, beside torch's over gloo. Here a ratio above 1 means that this library is faster."""),
    Section("pytorch", "PyTorch itself on these wires", """\
The same program of PyTorch with two ranks, over gloo, over tcp and over a mapped file. *Processor* is the ratio of the processor times of
all threads of a rank. A step that mostly computes cannot become much faster by another wire: without any
communication the ConvNet takes some 20 of its 24 ms. Over tcp the kernel copies each byte twice, as it does for gloo."""),
    Section("sim", "The simulator", """\
Seconds are the processor's. Of the all_reduce of 100,000 ranks, more than half is their beginning and their end. 10,000 is no power of two,
so ten all_reduces there are 1.1 million messages without bytes. Where SimGrid's module can be imported (`apt-get install
python3-simgrid`), the same ring runs under its actors. They are threads, as they are written in Python. Those in C++ are faster, and were
not measured."""),
)  # fmt: skip


def speed_page() -> str:
    """The page: a table for each benchmark."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(DATA.read_text("utf-8"))
    return TOP + "".join(section_text(one, found[one.bench]) for one in SECTIONS)


def section_text(section: Section, rows: dict[str, dict[str, Any]]) -> str:
    return f"\n## {section.title}\n\n    mtd bench {section.bench}\n\n{section.about}\n\n{table(rows)}"


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The table, and below it when and where each row was measured: a letter in the last column says which of these."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row["cells"]))
    origins = list(dict.fromkeys(map(origin, rows.values())))
    letters = {one: chr(ord("A") + number) for number, one in enumerate(origins)}
    lines = [["", *columns, "measured"], ["---"] * (len(columns) + 2)]
    for what, row in rows.items():
        lines.append([what, *(row["cells"].get(name, "") for name in columns), letters[origin(row)]])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return text + "\n" + "".join(f"- {letter}: {one}\n" for one, letter in letters.items())


def origin(row: dict[str, Any]) -> str:
    return f"{day(row['date'])}, {row['machine']}, `{row['command']}`"


def day(written: str) -> str:
    """`2026-11-21` as 21 November 2026."""
    found = date.fromisoformat(written)
    return f"{found.day} {found:%B %Y}"
