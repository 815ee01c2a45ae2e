"""The floors above know a transport by its contract, and a clock by what it declares of itself."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from pathlib import Path

import pytest

import minitorch_dist as torch
from minitorch_dist.distributed import codec, exceptions, prepared, world
from minitorch_dist.distributed.execution.notices import FailureNotice
from minitorch_dist.distributed.schedules.links import Links
from tests.distributed.wires import Wires
from tests.transports import options
from transports import conformance, contract, registry
from transports.clock import SYSTEM
from transports.contract import Transport
from transports.costs import MessageCosts
from transports.errors import Lost, PeerLost
from transports.queue import QueueTransport
from transports.virtual.clock import VirtualClock

ABOVE = sorted(Path(torch.__file__).parent.rglob("*.py"))


def test_a_clock_says_whether_its_time_is_computed() -> None:
    assert VirtualClock().is_virtual and not SYSTEM.is_virtual


def test_a_reason_has_a_kind_for_programs_and_a_text_for_people() -> None:
    lost = PeerLost(3, Lost("closed", "goodbye"))
    assert lost.kind == "closed" and lost.reason == "goodbye"
    assert str(lost) == "rank 3 is lost: goodbye"
    assert PeerLost(3, lost.why).kind == "closed"  # said again, it is the same
    assert lost.why.more(", in tears") == "goodbye, in tears"
    assert lost.why.more(", in tears").kind == "closed"


def test_a_transport_that_knows_of_no_kinds_gives_a_plain_text() -> None:
    assert PeerLost(1, "it closed its transport").kind == "lost"
    assert Lost.of(OSError("the wire broke")) == Lost("lost", "the wire broke")


@pytest.mark.parametrize("kind", ["lost", "closed", "left"])
@pytest.mark.parametrize("made", [PeerLost, exceptions.PeerLost])
def test_a_reason_survives_copies(kind: str, made: type[PeerLost]) -> None:
    error = made(2, Lost(kind, "gone"))  # type: ignore[arg-type]
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (other.rank, other.reason, other.kind) == (2, "gone", kind)
        assert str(other) == str(error)


@pytest.mark.parametrize("trust", codec.Trust)
def test_a_reason_travels_to_other_ranks(trust: codec.Trust) -> None:
    """As plain values, which every degree of trust takes."""
    error = exceptions.PeerLost(2, Lost("left", "gone"), "rank 1 needs")
    meta, buffers = codec.encode(error, trust)
    other = codec.decode(meta, buffers, trust)
    assert (other.rank, other.reason, other.kind, other.doing) == (2, "gone", "left", "rank 1 needs")
    assert str(other) == str(error)


@pytest.mark.parametrize("kind", ["lost", "left"])
def test_others_are_told_whether_a_peer_had_left(kind: str) -> None:
    """What a rank is advised to do differs."""
    error = exceptions.PeerLost(2, Lost(kind, "goodbye"), "rank 1 needs in barrier")  # type: ignore[arg-type]
    notice = FailureNotice.read(FailureNotice.of(error, 0, "barrier").written())
    assert notice is not None
    assert str(notice.error(1, 3)) == str(error)


def test_a_farewell_may_be_worded_otherwise() -> None:
    """A transport of somebody else's says in its own words that a peer has closed."""
    wires = Wires(2)
    box = wires.boxes[0]
    box.left_after = lambda rank, group: f"after rank {rank}'s barrier"
    box.lost(1, PeerLost(1, Lost("closed", "hasta la vista")))
    assert box.why_lost(1, box.gone[1], 0) == "it has left, after rank 1's barrier"
    assert box.why_lost(1, Lost("lost", "it was killed"), 0) == "it was killed"


LOOKS_BEHIND = [
    r"isinstance\([^)]*\bSystemClock\b",
    r"[rR]eason\)?\.startswith|getattr\(reason",
    r"getattr\([^)]*\"(may_lose|is_unreliable|under_way|latest)\"|getattr\(done, ",
    r"CLOSED (not )?in |[\"'] (not )?in (str\()?(reason|why)",
    r"transport\.scheme (==|!=|in)|(get\(|\[)[^\n]*transport\.scheme[,\])]",
    r"scheme (==|!=|in) (THREADS|\"(queue|sim|tcp|mqtt|mpi)\")",
]


@pytest.mark.parametrize("pattern", LOOKS_BEHIND)
def test_nothing_above_looks_behind_the_contract(pattern: str) -> None:
    found = [str(path) for path in ABOVE if re.search(pattern, path.read_text(encoding="utf-8"))]
    assert len(ABOVE) > 500 and not found


class OwnTransport(QueueTransport):
    """Somebody else's, whose ranks are threads too."""

    scheme = "own"
    costs = MessageCosts(3e-3, 7e6, 1e9)
    usual_delay = 0.25


def links_and_thread() -> tuple[Links, int]:
    group = world.current().default_group
    assert group is not None
    return prepared.links_of(group), threading.get_ident()


def test_a_transport_of_somebody_else_declares_what_the_floors_above_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BUILT_IN, "own", f"{__name__}:OwnTransport")
    found = torch.launch(links_and_thread, 3, "own://")  # and so its ranks are threads
    assert [links for links, _ in found] == [Links.measured(3e-3, 7e6, 1e9)] * 3
    assert len({thread for _, thread in found}) == 3


def test_everything_that_the_contract_declares_is_tried() -> None:
    folder = Path(conformance.__file__).parent
    tried = "\n".join(path.read_text("utf-8") for path in [*folder.glob("*.py"), Path(options.__file__)])
    names = {name for name in vars(Transport) if not name.startswith("_")}
    assert {"send", "watch", "usual_delay", "is_unreliable"} < names
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", tried)) == []


def test_queue_is_the_shortest_transport() -> None:
    """Shorter than the one that docs/transports.md writes as an example."""
    page = (Path(torch.__file__).parent.parent / "docs" / "transports.md").read_text("utf-8")
    example = max(map(len, (block.splitlines() for block in re.findall(r"```python\n(.*?)```", page, re.S))))
    own = {path.stem: len(path.read_text("utf-8").splitlines()) for path in Path(contract.__file__).parent.glob("*.py")}
    others = [own[scheme] for scheme in ("tcp", "file", "mqtt", "sim", "mpi")]
    assert own["queue"] < min([example, *others])
