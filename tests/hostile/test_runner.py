"""The suite sees what it is for: for each kind of fall there is a door here that falls so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.hostile import command, parts, running
from tests.hostile.bending import bend_plainly, bend_text, bend_tree, bytes_bender, fields_of
from tests.hostile.door import LARGE, Door, Inputs
from tests.hostile.faults import blows, nursery, programs
from tests.hostile.faults.blows import Blow
from tests.hostile.faults.nursery import DIED, End, Fell
from tests.hostile.judging import Verdict
from tests.hostile.live import members
from tests.hostile.live.crowd import Wrong
from tests.hostile.running import Part, Row, Runner, Session, Tried
from tests.transports import members as costly

RIGHT = b"\x05hello"


def length_of(data: bytes) -> None:
    """A reader as it should be: one byte of length, then so many bytes."""
    if len(data) != data[0] + 1 if data else True:
        raise ValueError("not of that length")


def broken(what: Callable[[bytes], Any]) -> Callable[[bytes], None]:
    """The same, but for inputs that contain an h and are too short."""

    def read(data: bytes) -> None:
        if data[:1] == b"\x05" and len(data) < 6:
            what(data)
        length_of(data)

    return read


def spin(data: bytes) -> None:
    while True:
        pass


def swallow(data: bytes) -> None:
    """It notices nothing of what it must not do."""
    try:
        open("/etc/hostname")  # noqa: PTH123, SIM115
    except BaseException:
        return


KEPT: list[bytes] = []
BREAKS: dict[str, tuple[Callable[[bytes], Any], str]] = {
    "wrong exception": (lambda data: {}["x"], "raised KeyError"),
    "exit": (lambda data: sys.exit(3), "raised SystemExit"),
    "computes": (spin, "hang"),
    "memory": (lambda data: KEPT.append(bytes(8 << 20)), "memory: "),
    "all memory": (lambda data: bytearray(1 << 40), "memory: MemoryError"),
    "import": (lambda data: __import__("this"), "ran something: import 'this'"),
    "program": (lambda data: subprocess.Popen(["true"]), "ran something: subprocess.Popen"),
    "system": (lambda data: os.system("true"), "ran something: os.system"),
    "exec": (lambda data: exec("1"), "ran something: exec"),
    "file": (lambda data: open("/tmp/x", "w"), "ran something: open '/tmp/x'"),  # noqa: PTH123, SIM115
    "reads": (lambda data: Path("/etc/passwd").read_text(), "ran something: open"),
    "kills": (lambda data: os.kill(os.getpid(), 18), "ran something: os.kill"),
    "lists": (lambda data: os.listdir("/etc"), "ran something: os.listdir '/etc'"),  # noqa: PTH208
    "connects": (lambda data: __import__("socket").create_connection(("::1", 9)), "ran something: socket"),
    "swallows": (swallow, "ran something: open '/etc/hostname'"),
    "dies": (lambda data: os._exit(7), "its process died"),
}


def door(read: Callable[[bytes], Any], **more: Any) -> Door:
    bend = bytes_bender(lambda data: fields_of("<B"))
    make: Any = lambda random, size: RIGHT  # noqa: E731
    return Door("d", make, bend, read, (ValueError,), has_large=False, **more)


def rows(*doors: Door, count: int = 60, **more: Any) -> list[Row]:
    runner = Runner([parts.part_of(one) for one in doors], 1, 60.0, 1, count, say=lambda text: None, **more)
    return runner.run()


def test_a_reader_that_is_right_does_not_fall() -> None:
    (row,) = rows(door(length_of), count=1000)
    assert (row.fallen, row.attempts) == (0, 1000)
    assert row.accepted > 100 and row.refused > 300 and row.accepted + row.refused == 1000


def test_a_search_for_installed_packages_is_no_fall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lists the folders of `sys.path`, and later ones, too; it does so again when one of them has changed meanwhile."""
    monkeypatch.syspath_prepend(tmp_path)
    places = [place for place in sys.path if Path(place).is_dir()]

    def read(data: bytes) -> None:
        for place in places:
            os.listdir(place)  # noqa: PTH208 - as Python does it
        length_of(data)

    (row,) = rows(door(read))
    assert places and row.fallen == 0, row.falls


def test_to_ask_whether_a_process_lives_is_no_fall() -> None:
    def read(data: bytes) -> None:
        os.kill(os.getpid(), 0)
        length_of(data)

    (row,) = rows(door(read))
    assert row.fallen == 0, row.falls


@pytest.mark.slow
@pytest.mark.parametrize("name", BREAKS)
def test_each_kind_of_fall_is_seen_and_can_be_made_again(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    what, says = BREAKS[name]
    monkeypatch.setattr("tests.hostile.parts.WARM", 0)
    monkeypatch.setattr("tests.hostile.judging.SECONDS", 0.2)
    (row,) = rows(door(broken(what)))
    assert row.fallen > 0 and row.falls[0].why.startswith(says), row.falls
    token = row.falls[0].token
    number = int(token.rpartition(":")[2])
    given = Inputs(door(length_of), 1).input(number).given
    assert given[:1] == b"\x05" and len(given) < 6, "the token leads to the input that fell"


def test_a_reader_that_stands_still_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.hostile.judging.STANDSTILL", 0.2)
    (row,) = rows(door(broken(lambda data: time.sleep(60))), count=20)
    assert row.falls and row.falls[0].why.startswith("hang: it has been waiting")


def test_who_hears_no_signal_is_ended_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    def deaf(data: bytes) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGPROF})
        time.sleep(60)

    monkeypatch.setattr("tests.hostile.parts.WARM", 0)
    monkeypatch.setattr("tests.hostile.running.DEATHS", 1)
    (row,) = rows(door(broken(deaf)), count=20, silence=0.5)
    assert row.falls[0].why == "its process died, or stood still and was ended"


def test_who_refuses_what_is_right_falls() -> None:
    def strict(data: bytes) -> None:
        raise ValueError("no")

    (row,) = rows(door(strict), count=50)
    assert row.falls and row.falls[0].why.startswith("refused a right input: ValueError: no")
    assert rows(door(strict, is_always_right=False), count=50)[0].fallen == 0


def test_a_part_goes_on_behind_the_attempt_that_it_died_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.hostile.parts.WARM", 0)
    (row,) = rows(door(broken(lambda data: os._exit(7))), count=300)
    assert row.deaths == running.DEATHS == len(row.falls)
    numbers = [int(fall.token.rpartition(":")[2]) for fall in row.falls]
    assert numbers == sorted(set(numbers)), "each death is another attempt"


@pytest.mark.parametrize("one", ["codec", "saved", "journal", "token"])
def test_a_number_is_one_input(one: str, tmp_path: Path) -> None:
    found = next(each for each in parts.all_doors(tmp_path) if each.name == one)
    numbers = [0, 7, 199, 200, 201, LARGE - 1]
    first = [Inputs(found, 3).input(number).given for number in numbers]
    again = [Inputs(found, 3).input(number).given for number in reversed(numbers)]
    assert first == again[::-1]
    assert first != [Inputs(found, 4).input(number).given for number in numbers]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_bent_differs_and_stays_of_its_kind(seed: int) -> None:
    random = Random(seed)
    tree = {"a": [1, {"b": "text"}], "c": None, "d": 10**400}
    trees, texts, octets = set(), set(), set()
    for _ in range(50):
        trees.add(repr(bend_tree(random, tree)))
        texts.add(bend_text(random, "a=1,b=2", ["c"]))
        octets.add(bend_plainly(random, bytes(range(20)), [b"other"]))
    assert min(len(trees), len(texts), len(octets)) > 15
    assert tree == {"a": [1, {"b": "text"}], "c": None, "d": 10**400}, "the tree itself is not changed"


# ------------------------------------------------------------------------------------------- faults


def end(kind: str = "", text: str = "", number: int = 0) -> End:
    return End(not kind, None, [kind, "Exception"], text, number, "")


KILL = Blow("kill", 1, 0.0, 0)
TOLD = End(False, None, ["PeerLost", "DistError"], "rank 1 is lost", 0, "")


def test_a_fault_may_end_well_or_with_an_error_that_names_the_cause() -> None:
    assert programs.judge([end(), end(), end()], KILL).outcome == "accepted"
    assert programs.judge([TOLD, DIED, TOLD], KILL).outcome == "refused"
    full = [TOLD, end("OSError", "no space", 28)]
    assert programs.judge(full, Blow("no disk", 1, 0.0, 10)).outcome == "refused"


@pytest.mark.parametrize(
    ("ends", "blow", "says"),
    [
        ([DIED, end()], KILL, "rank 0.* died without a word"),
        ([end("KeyError", "x"), DIED], KILL, "KeyError does not tell the cause"),
        ([TOLD._replace(text="lost"), DIED], KILL, "does not tell the cause: lost"),
        ([end(), TOLD], Blow("freeze", 1, 0.1, 0), "failed, though nothing was lost"),
        ([end(), end("ValueError", "x")], Blow("interrupt", 1, 0.1, 0), "ValueError does not tell"),
        ([end("Fell", "wrong value"), end()], None, "failed, though nothing was lost"),
    ],
)
def test_all_else_is_a_fall(ends: list[End], blow: Blow | None, says: str) -> None:
    with pytest.raises(Fell, match=says):
        programs.judge(ends, blow)


def test_all_kinds_of_blows_are_drawn() -> None:
    random = Random(1)
    drawn = {blows.draw(random, 3, 1.0, programs.ALL_KINDS).kind for _ in range(200)}
    assert drawn == set(programs.ALL_KINDS)


class Struck:
    """A result during whose pickling its own process is interrupted."""

    def __reduce__(self) -> tuple[type[Struck], tuple[()]]:
        os.kill(os.getpid(), signal.SIGINT)
        return Struck, ()


def struck_at_the_end(rank: int, size: int, begun: Callable[[], None]) -> Struck:
    begun()
    return Struck()


def test_a_blow_that_comes_after_the_program_has_ended_leaves_its_result(tmp_path: Path) -> None:
    """Ctrl-C is the program's as long as that lasts. Afterwards it would only silence the suite's own report."""
    ends = nursery.run(struck_at_the_end, 1, None, tmp_path / "world")
    assert isinstance(ends[0].result, Struck)


@pytest.mark.parametrize("what", ["SECONDS", "BYTES"])
def test_a_server_that_takes_too_much_for_its_members_falls(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With limits that no server can keep; with those of the suite it stands."""

    def put_much(crowd: Any, random: Random, scale: float) -> None:
        crowd.ask(crowd.member(), costly.request("set", ["k"], [bytes(20 << 20)]))

    monkeypatch.setattr(costly, "ATTACKS", [put_much])
    session = members.open_store(1, tmp_path)
    try:
        monkeypatch.setattr(Random, "sample", lambda self, found, count: list(found))
        assert session.attempt(0).verdict.outcome == "accepted"
        monkeypatch.setattr(costly, what, -(1 << 40))
        with pytest.raises(Wrong, match=r"put_much at .*: too much for"):
            session.attempt(1)
    finally:
        session.close()


# ------------------------------------------------------------------------------------- the command line


def fake(verdict: Verdict) -> Part:
    class Always:
        def attempt(self, number: int) -> Tried:
            return Tried(verdict, 3)

        def close(self) -> None: ...

    def open_it(seed: int, folder: Path) -> Session:
        return Always()

    return Part("fake", "live", open_it)


def test_the_command_prints_what_was_tried_and_what_fell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITORCH_DIST_KEY", "k")
    monkeypatch.setattr(command, "all_parts", lambda folder: [fake(Verdict("accepted"))])
    assert command.main(["--count", "6", "--seconds", "20"]) == 0
    assert "18 inputs and 0 faults; 0 fallen" in capsys.readouterr().out
    monkeypatch.setattr(command, "all_parts", lambda folder: [fake(Verdict("fell", "oh"))])
    assert command.main(["--count", "2", "--seconds", "20", "--seed", "7"]) == 1
    said = capsys.readouterr().out
    assert "fake: oh\n    python -m tests.hostile --replay fake:7:0" in said
    assert command.main(["--replay", "fake:7:0"]) == 1
    assert "fake:7:0: fell oh" in capsys.readouterr().out
    assert command.main(["--only", "nothing is called so"]) == 2


def test_every_part_has_a_name_of_its_own(tmp_path: Path) -> None:
    names = [part.name for part in parts.all_parts(tmp_path)]
    assert len(set(names)) == len(names) > 40 and all(":" not in name for name in names)


@pytest.mark.slow
def test_every_door_is_opened_by_what_is_right_and_refuses_what_is_not(tmp_path: Path) -> None:
    """A door that refuses everything is not tried at all, and neither is one that takes everything."""
    for each in parts.all_doors(tmp_path):
        inputs, accepted, refused = Inputs(each, 1), 0, 0
        for number in range(60):
            try:
                each.read(inputs.input(number).given)
            except each.refusals:
                refused += 1
            except Exception:  # it fell, which the suite itself tells
                continue
            else:
                accepted += 1
        assert accepted >= 3, f"{each.name} accepts {accepted} of 60"
        assert refused or not each.refusals, f"{each.name} refuses nothing"
