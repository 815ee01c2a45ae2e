"""MSCCL's XML: an algorithm for one number of GPUs as a table of thread blocks and their steps, read and written.

    <algo name="ring" ngpus="4" coll="allreduce" inplace="1" nchunksperloop="4" …>
      <gpu id="0" i_chunks="4" o_chunks="0" s_chunks="0">
        <tb id="0" send="1" recv="3" chan="0">
          <step s="0" type="s" srcbuf="i" srcoff="3" dstbuf="i" dstoff="3" cnt="1" depid="-1" deps="-1" hasdep="0"/>

The thread blocks of a GPU work at once, each on its steps in order. A step may wait for one of another block (`depid`, `deps`).
`s` sends, `r` receives, `rrc` adds what comes, `rcs`, `rrs` and `rrcs` send it on; `cpy` and `re` copy and add at home.
Reading plays all blocks of all GPUs, which brings the steps of each into one order. The schedule is
proved like any other. Documents come from strangers: they are read without a DTD or entities, and what is wrong is told with its line.

Source: M. Cowan et al., MSCCLang: Microsoft collective communication language, ASPLOS 2023, doi:10.1145/3575693.3575724;
microsoft/msccl-tools, msccl/language/ir.py.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import numpy as np

from minitorch_dist.distributed.schedules.schedule import Schedule, ScheduleError
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, PlainStep, Rank, Receive, Send, Step, Steps
from minitorch_dist.inventory import plugs

COLLECTIVES: Final = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
}
PARTS: Final = {  # the parts of a step: send, receive, receive and add
    "s": "s",
    "r": "r",
    "rrc": "a",
    "rcs": "rs",
    "rrs": "as",
    "rrcs": "as",
    "cpy": "c",
    "re": "e",
    "nop": "",
}
STEP: Final = ("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep")  # of a <step>
INSIDE: Final = {"algo": "", "gpu": "algo", "tb": "gpu", "step": "tb"}
MOST_GPUS: Final = 256
MOST_STEPS: Final = 200_000
MOST_BYTES: Final = 64 << 20

Place = tuple[str, int]  # a buffer's letter, and the number in it


class BlockPart(NamedTuple):
    """One act of a thread block: s, r (a: and add), c (e: and add)."""

    kind: str
    source: Place
    into: Place
    peer: int


@dataclass
class ThreadBlock:
    """Its steps, as their parts; and where it is."""

    send: int
    recv: int
    channel: int
    steps: list[tuple[list[BlockPart], tuple[int, int]]]  # their parts, and the step that each waits for
    at: int = 0
    done: int = 0  # parts of the present step


# ------------------------------------------------------------------------------------ reading


class _Element(NamedTuple):
    name: str
    line: int
    attributes: dict[str, str]
    inner: list[Any]

    def wrong(self, said: str) -> ScheduleError:
        return ScheduleError(f"line {self.line}: {said}")

    def number(self, name: str, least: int, below: int, usual: int | None = None) -> int:
        text = self.attributes.get(name)
        if text is None and usual is not None:
            return usual
        value = int(text) if text and len(text) < 12 and text.removeprefix("-").isdecimal() else None
        if value is None or not least <= value < below:
            said = f"{text!r}, and should be a number from {least} to {below - 1}"
            raise self.wrong(f"{name} of <{self.name}> is {said}")
        return value

    def word(self, name: str, known: Any) -> str:
        text = self.attributes.get(name, "")
        if text not in known:
            said = f"{text[:40]!r}; it should be one of {', '.join(known)}"
            raise self.wrong(f"{name} of <{self.name}> is {said}")
        return text


def read(path: Path) -> Schedule:
    """The algorithm in a file, for its number of GPUs; ScheduleError says what is wrong and where."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ScheduleError(f"it has more than {MOST_BYTES >> 20} MB")
        return _schedule(_document(path.read_bytes()), path.stem)
    except ScheduleError as error:
        raise ScheduleError(f"{path.name}: {error}") from error


def _document(data: bytes) -> _Element:
    """The elements. A DTD is refused, so there are no entities but the five of XML itself."""
    parser, stack, count = expat.ParserCreate(), [_Element("", 0, {}, [])], itertools.count(1)

    def begin(name: str, attributes: dict[str, str]) -> None:
        here = _Element(name, parser.CurrentLineNumber, attributes, [])
        if name not in INSIDE or stack[-1].name != INSIDE[name]:
            raise here.wrong(f"no <{name[:40]}> is expected here")
        if name == "step" and next(count) > MOST_STEPS:
            raise here.wrong(f"there are more than {MOST_STEPS:,} steps")
        stack[-1].inner.append(here)
        stack.append(here)

    def refuse(*_: Any) -> None:
        here = _Element("", parser.CurrentLineNumber, {}, [])
        raise here.wrong("it has a DOCTYPE, which could hold entities; take it out")

    parser.StartElementHandler, parser.StartDoctypeDeclHandler = begin, refuse
    parser.EndElementHandler = lambda name: stack.pop()
    try:
        parser.Parse(data, True)
    except ScheduleError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise ScheduleError(f"it is no XML: {error}") from error
    return stack[0].inner[0]  # type: ignore[no-any-return]


def _schedule(algo: _Element, stem: str) -> Schedule:
    gpus = algo.number("ngpus", 1, MOST_GPUS + 1)
    collective = COLLECTIVES[algo.word("coll", COLLECTIVES)]
    inplace = bool(algo.number("inplace", 0, 2, 1))
    by_id = {one.number("id", 0, gpus): one for one in algo.inner}
    if len(by_id) != gpus or len(algo.inner) != gpus:
        raise algo.wrong(f"{len(by_id)} of {gpus} GPUs have a <gpu> of their own")
    chunks = algo.number("nchunksperloop", 1, 1 << 20)
    total = {"all_to_all": gpus * gpus, "all_reduce": chunks}.get(collective, gpus)
    every = [step for gpu in algo.inner for block in gpu.inner for step in block.inner]
    moves = sum(step.number("cnt", 0, 1 << 12, 1) for step in every)
    if max(moves, gpus * total) > MOST_STEPS:
        raise algo.wrong(f"{moves:,} chunks move, and each GPU has {total:,}; read are up to {MOST_STEPS:,}")
    blocks = [_blocks(by_id[gpu], gpus) for gpu in range(gpus)]
    events = _Player(collective, gpus, total, inplace, blocks).play()
    merged = [_merged([step for gpu, step in events if gpu == rank]) for rank in range(gpus)]

    def steps(rank: Rank, size: int) -> Steps:
        if isinstance(rank, int):
            yield from merged[rank]
            return
        for gpu, step in events:
            yield step._replace(only=np.asarray(rank == gpu))

    def of_its_size(size: int) -> bool:
        return size == gpus

    of_its_size.__name__ = f"{gpus} GPUs"
    return Schedule(collective, stem, steps, lambda size: total, domain=of_its_size)


def _blocks(gpu: _Element, gpus: int) -> list[ThreadBlock]:
    found: dict[int, ThreadBlock] = {}
    by_id = {one.number("id", 0, len(gpu.inner)): one for one in gpu.inner}
    if len(by_id) < len(gpu.inner):
        raise gpu.wrong(f"only {len(by_id)} of its {len(gpu.inner)} blocks have an id of their own")
    for number, one in sorted(by_id.items()):
        ends = one.number("send", -1, gpus), one.number("recv", -1, gpus), one.number("chan", 0, 1 << 16, 0)
        found[number] = ThreadBlock(*ends, [])
        for step in one.inner:
            block, at = step.number("depid", -1, len(by_id), -1), step.number("deps", -1, 1 << 20, -1)
            if block >= 0 and at >= len(by_id[block].inner):
                raise step.wrong(f"it waits for step {at} of block {block}, which is not there")
            found[number].steps.append((_parts(step, found[number]), (block, at)))
    return [*found.values()]


def _parts(step: _Element, block: ThreadBlock) -> list[BlockPart]:
    kind = PARTS[step.word("type", PARTS)]
    if not kind:
        return []
    for letters, peer, way in (("s", block.send, "send"), ("ra", block.recv, "recv")):
        if set(letters) & set(kind) and peer < 0:
            raise step.wrong(f"its block has {way}=-1, so there is nobody to do this with")
    source = step.word("srcbuf", "ios"), step.number("srcoff", 0, 1 << 20)
    into = step.word("dstbuf", "ios"), step.number("dstoff", 0, 1 << 20)
    parts = []
    for one in range(step.number("cnt", 1, 1 << 12, 1)):
        here, there = (source[0], source[1] + one), (into[0], into[1] + one)
        for letter in kind:  # what came is sent on from where it was put
            first = here if kind == "s" or letter in "ce" else there
            parts.append(BlockPart(letter, first, there, block.send if letter == "s" else block.recv))
    return parts


class _Player:
    """Plays all blocks, each message in one go where both sides are there; and follows which chunk lies where."""

    def __init__(self, collective: str, gpus: int, total: int, inplace: bool, blocks: list[list[ThreadBlock]]) -> None:
        self.collective, self.gpus, self.total = collective, gpus, total
        self.inplace, self.blocks = inplace, blocks
        self.events: list[tuple[int, Step]] = []
        self.chunk: list[dict[Place, int]] = [self._first(gpu) for gpu in range(gpus)]
        self.slots: list[dict[Place, int]] = [{} for _ in range(gpus)]
        self.under_way: defaultdict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        for gpu in range(gpus):
            for place, chunk in self.chunk[gpu].items():
                if self._number(gpu, place, chunk) != chunk:
                    self.events.append((gpu, Combine(self._number(gpu, place, chunk), chunk, reduce=False)))

    def _first(self, gpu: int) -> dict[Place, int]:
        """The chunks of the inputs."""
        if self.collective == "all_gather":
            return {self._place(gpu, ("i", 0)): gpu}
        first = gpu * self.gpus if self.collective == "all_to_all" else 0
        many = self.gpus if self.collective == "all_to_all" else self.total
        return {("i", one): first + one for one in range(many)}

    def _place(self, gpu: int, place: Place) -> Place:
        """Where the work is in place, input and output are the same memory."""
        buffer, at = place
        if not self.inplace or buffer == "s":
            return place
        if self.collective == "all_gather":
            return ("o", at + gpu) if buffer == "i" else place
        return ("i", at + gpu if self.collective == "reduce_scatter" and buffer == "o" else at)

    def _number(self, gpu: int, place: Place, chunk: int) -> int:
        """Our number of a chunk in a place: its own in the output, or where the input is ours already; else scratch."""
        buffer, at = place
        owner, to = divmod(chunk, self.gpus)
        ends_here = {"reduce_scatter": chunk == gpu, "all_to_all": to == gpu}.get(self.collective, True)
        if self.inplace:
            is_own = ends_here or owner == gpu if self.collective == "all_to_all" else at == chunk
            home = buffer != "s" and is_own
        elif buffer == "o":
            home = ends_here and at == {"reduce_scatter": 0, "all_to_all": owner}.get(self.collective, chunk)
        else:
            home = buffer == "i" and not ends_here and self._first(gpu).get(place) == chunk
        if home:
            return chunk
        return self.total * (1 + self.slots[gpu].setdefault(place, len(self.slots[gpu]))) + chunk

    def play(self) -> list[tuple[int, Step]]:
        moved = True
        while moved:
            moved = False
            for gpu, blocks in enumerate(self.blocks):
                for block in blocks:
                    while self._advance(gpu, block):
                        moved = True
            if not moved:
                moved = True in [self._send_ahead(gpu) for gpu in range(self.gpus)]
        stuck = [
            f"block {number} of GPU {gpu} at step {block.at}"
            for gpu, blocks in enumerate(self.blocks)
            for number, block in enumerate(blocks)
            if block.at < len(block.steps)
        ]
        if stuck:
            more = f" and {len(stuck) - 8} more" if len(stuck) > 8 else ""
            raise ScheduleError(f"it stands still: {', '.join(stuck[:8])}{more}")
        return self.events

    def _head(self, gpu: int, block: ThreadBlock) -> BlockPart | None:
        """The next part, if its step waits for nobody."""
        while block.at < len(block.steps):
            parts, (other, step) = block.steps[block.at]
            if other >= 0 and self.blocks[gpu][other].at <= step and self.blocks[gpu][other] is not block:
                return None
            if block.done < len(parts):
                return parts[block.done]
            block.at, block.done = block.at + 1, 0
        return None

    def _advance(self, gpu: int, block: ThreadBlock) -> bool:
        before = block.at
        part = self._head(gpu, block)
        if part is None:
            return block.at > before
        if part.kind == "s":
            peers = self.blocks[part.peer]
            other = next((one for one in peers if (one.recv, one.channel) == (gpu, block.channel)), None)
            if other is None:
                raise ScheduleError(
                    f"GPU {gpu} sends to GPU {part.peer}, which has no block with recv={gpu} and its channel"
                )
            waits = self._head(part.peer, other)
            if waits is None or waits.kind not in "ra" or self.under_way[gpu, part.peer, block.channel]:
                return False
            self._send(gpu, block, part)
            self._advance(part.peer, other)
        elif part.kind in "ra":
            coming = self.under_way[part.peer, gpu, block.channel]
            if not coming:
                return False
            place = self._filled(gpu, part, coming.popleft())
            self.events.append((gpu, Receive(part.peer, place, reduce=part.kind == "a")))
            block.done += 1
        else:
            chunk = self._holds(gpu, part.source)
            source = self._number(gpu, self._place(gpu, part.source), chunk)
            into = self._filled(gpu, part, chunk)
            if into != source:
                self.events.append((gpu, Combine(into, source, reduce=part.kind == "e")))
            block.done += 1
        return True

    def _send(self, gpu: int, block: ThreadBlock, part: BlockPart) -> None:
        chunk = self._holds(gpu, part.source)
        self.under_way[gpu, part.peer, block.channel].append(chunk)
        self.events.append((gpu, Send(part.peer, self._number(gpu, self._place(gpu, part.source), chunk))))
        block.done += 1

    def _send_ahead(self, gpu: int) -> bool:
        """Where all wait for each other, each GPU sends one message before its receiver is there."""
        for block in self.blocks[gpu]:
            part = self._head(gpu, block)
            if part is not None and part.kind == "s" and not self.under_way[gpu, part.peer, block.channel]:
                self._send(gpu, block, part)
                return True
        return False

    def _holds(self, gpu: int, place: Place) -> int:
        found = self.chunk[gpu].get(self._place(gpu, place))
        if found is None:
            raise ScheduleError(f"GPU {gpu} takes from {place[0]}[{place[1]}], which was never filled")
        return found

    def _filled(self, gpu: int, part: BlockPart, chunk: int) -> int:
        """Our number of what is written; adding has to find the same chunk there."""
        place = self._place(gpu, part.into)
        if part.kind in "ae" and self.chunk[gpu].get(place) != chunk:
            held = self.chunk[gpu].get(place)
            raise ScheduleError(f"GPU {gpu} adds chunk {chunk} to {place[0]}[{place[1]}], which holds {held}")
        self.chunk[gpu][place] = chunk
        return self._number(gpu, place, chunk)


def _merged(steps: list[Step]) -> list[Step]:
    """A send with the receive behind it is an exchange: so nobody waits where all send first."""
    found: list[Step] = []
    for step in steps:
        before = found[-1] if found else None
        if isinstance(step, Receive) and isinstance(before, Send):
            found[-1] = Exchange(before.to, before.chunks, step.source, step.chunks, step.reduce)
        else:
            found.append(step)
    return found


# ------------------------------------------------------------------------------------ writing


def write(schedule: Schedule, size: int) -> str:
    """A schedule for `size` GPUs as MSCCL's XML. ScheduleError if MSCCL has no such collective."""
    names = {ours: theirs for theirs, ours in COLLECTIVES.items()}
    if schedule.collective not in names:
        raise ScheduleError(f"MSCCL has no {schedule.collective}; it has {', '.join(names)}")
    writers = [_Writer(schedule, rank, size) for rank in range(size)]
    for rank, one in enumerate(writers):
        for to, messages in one.sent.items():
            for out, into in zip(messages, writers[to].taken[rank], strict=True):
                out.into, into.source = into.into, out.source
    head = {
        "name": schedule.name,
        "proto": "Simple",
        "nchannels": 1,
        "ngpus": size,
        "nchunksperloop": schedule.total(size) // (size if schedule.collective == "all_to_all" else 1),
        "coll": names[schedule.collective],
        "inplace": int(schedule.collective != "all_to_all"),
    }
    lines = [_tag("algo", head), *(line for one in writers for line in one.lines()), "</algo>"]
    return "\n".join(lines) + "\n"


def _tag(name: str, attributes: dict[str, Any], end: str = ">") -> str:
    return f"<{name} " + " ".join(f"{key}={quoteattr(str(value))}" for key, value in attributes.items()) + end


@dataclass(eq=False)
class _Act:
    """A step of the document: places are filled in when the other side is known."""

    kind: str
    block: tuple[str, int]
    after: list[_Act]
    source: list[Place]
    into: list[Place]


class _Writer:
    """The acts of one rank. Acts of one step wait for all of the step before."""

    def __init__(self, schedule: Schedule, rank: int, size: int) -> None:
        self.schedule, self.rank, self.size, self.total = schedule, rank, size, schedule.total(size)
        self.scratch: dict[int, Place] = {}
        self.acts: list[_Act] = []
        self.sent: defaultdict[int, list[_Act]] = defaultdict(list)
        self.taken: defaultdict[int, list[_Act]] = defaultdict(list)
        last: list[_Act] = []
        if schedule.collective == "all_to_all":
            last = [self._act("cpy", ("local", 0), [], [("i", rank)], [("o", rank)])]
        for step in schedule.plain(rank, size):
            last = self._of(step, last)

    def _of(self, step: PlainStep, last: list[_Act]) -> list[_Act]:
        out, into = [self._place(chunk) for chunk in step.sent], [self._place(chunk) for chunk in step.taken]
        if step.is_own:
            return [self._act("re" if step.reduce else "cpy", ("local", 0), last, out, into)]
        found = []
        if step.to is not None:
            found.append(self._act("s", ("send", step.to), last, out, []))
            self.sent[step.to].append(found[-1])
        if step.source is not None:
            overwritten = [act for act in found if {*act.source} & {*into}]
            kind = "rrc" if step.reduce else "r"
            found.append(self._act(kind, ("recv", step.source), [*last, *overwritten], [], into))
            self.taken[step.source].append(found[-1])
        return found

    def _act(
        self, kind: str, block: tuple[str, int], after: list[_Act], source: list[Place], into: list[Place]
    ) -> _Act:
        self.acts.append(_Act(kind, block, after, source, into))
        return self.acts[-1]

    def _place(self, number: int) -> Place:
        owner, to = divmod(number, self.size)
        if number < self.total and self.schedule.collective != "all_to_all":
            return ("o" if self.schedule.collective == "all_gather" else "i", number)
        if number < self.total and to == self.rank:
            return ("o", owner)
        if number < self.total and owner == self.rank:
            return ("i", to)
        return self.scratch.setdefault(number, ("s", len(self.scratch)))

    def lines(self) -> Iterator[str]:
        """The rank's element, with a block for each peer and way, and one for what is done at home."""
        blocks = list(dict.fromkeys(act.block for act in self.acts))
        rows: dict[tuple[str, int], list[dict[str, Any]]] = {block: [] for block in blocks}
        ended: dict[int, tuple[tuple[str, int], int]] = {}  # by act: its block, and its last step there
        for act in self.acts:
            waits = [ended[id(one)] for one in act.after if one.block != act.block]
            for block, at in waits:
                rows[block][at]["hasdep"] = 1
            links = [(blocks.index(block), at) for block, at in waits] or [(-1, -1)]
            for link in links[1:]:
                rows[act.block].append(_row(len(rows[act.block]), "nop", ("i", -1), ("o", -1), 0, link))
            for number, (source, into, count) in enumerate(_runs(act.source, act.into)):
                link = links[0] if number == 0 else (-1, -1)
                rows[act.block].append(_row(len(rows[act.block]), act.kind, source, into, count, link))
            ended[id(act)] = act.block, len(rows[act.block]) - 1
        sizes = {"all_gather": (1, self.total), "all_to_all": (self.size, self.size)}
        inputs, outputs = sizes.get(self.schedule.collective, (self.total, 0))
        yield _tag("gpu", {"id": self.rank, "i_chunks": inputs, "o_chunks": outputs, "s_chunks": len(self.scratch)})
        for number, (way, peer) in enumerate(blocks):
            ends = {"send": -1, "recv": -1, way: peer} if way != "local" else {"send": -1, "recv": -1}
            yield _tag("tb", {"id": number, **ends, "chan": 0})
            yield from (_tag("step", row, "/>") for row in rows[way, peer])
            yield "</tb>"
        yield "</gpu>"


def _row(s: int, kind: str, source: Place, into: Place, count: int, waits: tuple[int, int]) -> dict[str, Any]:
    return dict(zip(STEP, (s, kind, *source, *into, count, *waits, 0), strict=True))


def _runs(source: list[Place], into: list[Place]) -> Iterator[tuple[Place, Place, int]]:
    """Neighbours here and there go in one step."""
    first = 0
    for end in range(1, len(source) + 1):
        is_next = end < len(source) and all(
            places[end] == (places[end - 1][0], places[end - 1][1] + 1) for places in (source, into)
        )
        if not is_next:
            yield source[first], into[first], end - first
            first = end


plugs.register("msccl", sys.modules[__name__])
