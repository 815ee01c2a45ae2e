"""`mtd class` as real processes over the broker: joining, dying, ending; and what it says when something is wrong."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest
from rich.cells import cell_len

from minitorch_dist.inventory.release import __version__
from mtd.cli import main
from mtd.cli.classroom import hosting, joining
from mtd.course.classroom import words
from mtd.course.classroom.training import golden
from tests.course.classroom.people import WORD, Students, Teacher
from tests.course.terminal import Terminal
from tests.patience import LIMITS
from transports import keys
from transports.clock import SYSTEM
from transports.errors import DistNetworkError, DistStoreError
from transports.mqtt_protocol.store import MQTTStore


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `mtd class` sets in its process is not for the next test."""
    monkeypatch.setenv(keys.VARIABLE, "another job's key")


@pytest.mark.slow
def test_sixteen_join_two_are_killed_and_the_weights_are_the_golden_ones(tmp_path: Path) -> None:
    names = [f"P{n}" for n in range(16)]
    with (
        Teacher(tmp_path, "--pace", "0", "--steps", "80", is_lenient=True) as teacher,
        Students(tmp_path, teacher.address, names) as students,
    ):
        teacher.wait_for(lambda lines: sum(" joins: " in line for line in lines) == 16)
        teacher.say("start")
        teacher.wait_for(r"step \d+ of 80")
        students.kill("P3")
        students.kill("P8")
        teacher.wait_for("80 steps are made, and the weights are the golden ones, bit for bit")
        teacher.say("finish")
        status, said = teacher.end()
        assert status == 0 and "14 laptops on from step" in said
        ends = students.statuses()
        assert ends.pop("P3") == ends.pop("P8") == -signal.SIGKILL and set(ends.values()) == {0}
        assert f"weights {golden()[80]}" in students.said("P0")
    certificate = (tmp_path / "class-certificate.html").read_text("utf-8")
    assert certificate.count(f"✔ <code>{golden()[80]}</code>") == 14 and "was not there at the end" in certificate
    live = (tmp_path / "class.html").read_text("utf-8")
    assert "the class is over" in live and 'http-equiv="refresh"' not in live


@pytest.mark.slow
def test_a_small_class_its_race_who_leaves_and_a_teacher_who_goes(tmp_path: Path) -> None:
    names = ["Ada", "Bob", "Kim", "Lee"]
    with Teacher(tmp_path, "--pace", "0.05") as teacher, Students(tmp_path, teacher.address, names) as students:
        teacher.wait_for(lambda lines: sum(" joins: " in line for line in lines) == 4)
        teacher.say("race")
        teacher.wait_for("wins")
        teacher.say("start")
        teacher.wait_for(r"step \d+ of 160")
        students.kill("Kim", signal.SIGINT)
        teacher.wait_for("Kim leaves")
        teacher.wait_for("3 laptops on from")
        teacher.say("unplug Ada")
        teacher.wait_for("2 laptops on from")
        teacher.say("plug Ada")
        teacher.wait_for(lambda lines: sum("3 laptops on from" in line for line in lines) == 2)
        students.kill("Lee", signal.SIGSTOP)  # the lid is closed
        teacher.wait_for("Lee is gone")
        students.kill("Lee", signal.SIGCONT)
        teacher.wait_for("Lee is back")
        teacher.wait_for(lambda lines: sum("3 laptops on from" in line for line in lines) == 3)
        teacher.interrupt()
        status, said = teacher.end()
        assert status == 130 and "training was not finished" in said and "Traceback" not in said
        ends = students.statuses()
        assert ends == {"Ada": 0, "Bob": 0, "Lee": 0, "Kim": 130}
        assert "the teacher has ended it" in students.said("Bob")
        assert "goes on without you" in students.said("Kim")
        assert not any("Traceback" in students.said(name) for name in names)


@pytest.mark.slow
def test_on_a_screen(tmp_path: Path) -> None:
    """Names as they are, a picture, and what is typed, in 80 columns."""
    command = ["class", "host", "--port", "0", "--listen", "127.0.0.1", "--word", WORD, "--pace", "0", "--steps", "20"]
    with Terminal(*command, cwd=tmp_path, columns=80, rows=40) as teacher:
        address = teacher.see("mtd class join", "nobody is here yet").split()[3]
        names = ["[red]Bob", "张伟", "Ada\x1b[2J"]
        with Students(tmp_path, address, names) as students:
            shown = teacher.see("[red]Bob", "张伟", "Ada[2J", "3 laptops of 32 seats")
            assert all(cell_len(line) <= 80 for line in shown.splitlines())
            teacher.press("unplg ada\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f" + "nonsense\r")
            teacher.see("nonsense: there is no such word")
            teacher.press("start\r")
            shown = teacher.see(
                "20 steps are made, and the weights are the golden ones", "✔ golden weights at step 20", "●╌"
            )
            teacher.press("race\r")
            teacher.see("4 laptops are needed for a race of 2 tables, and 3 are here")
            teacher.press("who\r")
            teacher.see("127.0.0.1")
            teacher.press("help\r")
            teacher.see("unplug NAME")
            assert teacher.screen.other is not None
            teacher.press("finish\r")
            assert "20 steps: the weights are the golden ones" in teacher.end() and teacher.is_cooked()
            assert set(students.statuses().values()) == {0}


@pytest.mark.slow
def test_who_knows_the_word_and_writes_a_program_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may speak in its own name, and that is all: no rank, no orders, no look at others."""
    with Teacher(tmp_path, "--pace", "0.05") as teacher:
        address = teacher.address
        with Students(tmp_path, address, ["Ada", "Bob"]) as students:
            teacher.wait_for("Bob joins"), teacher.wait_for("Ada joins")
            monkeypatch.setenv(keys.VARIABLE, words.key(WORD))
            mallory = MQTTStore(f"mqtt://{address}/class", rank=1, timeout=20)
            me = f"{mallory.mark:016x}".encode()
            teacher.say("start")
            teacher.wait_for(r"step \d+ of 160")
            for wrong in [
                lambda: mallory.set("roster", b"me"),
                lambda: mallory.queue_pop("desk"),
                lambda: mallory.set("g/1/0/default_pg/1/mqtt/0", b"me"),
                lambda: mallory.get("g/1/0/default_pg/1/mqtt/0"),
                lambda: mallory.queue_push("desk", b"0" * 16 + b' ["Leave"]'),
                lambda: mallory.queue_push("to/x", b"x"),
            ]:
                with pytest.raises(DistStoreError, match=r"(?s)laptop|orders"):
                    wrong()
            for said in (
                b"",
                b"garbage",
                b"\x80\x04cos\nsystem\n.",
                b'["Saved",1,1,0.5,"00"]',
                b'["Lost",1,0,"x"]',
                b'["Leave"]',
            ):
                mallory.queue_push("desk", me + b" " + said)
            with pytest.raises(DistNetworkError):  # a second host
                MQTTStore(f"mqtt://{address}/class", rank=0, timeout=2)
            mallory.close()
            teacher.wait_for(r"step [4-9]\d of 160")
            teacher.say("finish")
            status, said = teacher.end()
            assert status == 0 and "generation 2" not in said and "Traceback" not in said
            assert students.statuses() == {"Ada": 0, "Bob": 0}


@pytest.mark.slow
def test_a_teacher_who_is_killed_and_what_wrong_ways_in_say(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Teacher(tmp_path, "--seats", "1") as teacher:
        address = teacher.address

        def join(*words: str) -> str:
            assert main(["class", "join", *words]) != 0
            return " ".join(capfd.readouterr().err.split())

        assert "(rivet: that looks mistyped)" in join(address, "--word", "maple-rivet-otter-cloud", "--name", "Bob")
        with Students(tmp_path, address, ["Ada"]) as students:
            teacher.wait_for("Ada joins")
            assert "--seats 2" in join(address, "--word", WORD, "--name", "\x1b[31mBob[red]")
            teacher.wait_for(r"\[31mBob\[red\] could not join")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("mtd.course.classroom.pupil.__version__", "0.0.9")
                found = join(address, "--word", WORD, "--name", "Old")
            assert "0.0.9" in found and f"pip install minitorch_dist=={__version__}" in found
            teacher.process.kill()
            teacher.process.wait()
            students.statuses()
            assert "does not answer any more" in " ".join(students.said("Ada").split())


def test_wrong_addresses_and_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{free.getsockname()[1]}"
        for seconds in LIMITS:
            monkeypatch.setattr(joining, "PATIENCE", seconds)
            assert main(["class", "join", closed, "--word", WORD, "--name", "Ada"]) == 1
            said = " ".join(capsys.readouterr().err.split())
            if "connection refused" in said:
                break
    assert "connection refused" in said
    for place in ("", "a b", "host:port", "host:0", "host:99999", "http://x/y"):
        assert main(["class", "join", place, "--word", WORD, "--name", "Ada"]) == 2, place
        assert "no address" in capsys.readouterr().err
    assert main(["class", "join", "host", "--word", " - ", "--name", "Ada"]) == 2
    monkeypatch.setattr("builtins.input", lambda question: (_ for _ in ()).throw(EOFError))
    assert main(["class", "join", "host"]) == 2
    assert "give --word" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("192.168.1.5", ("192.168.1.5", 1883)),
        ("192.168.1.5:99", ("192.168.1.5", 99)),
        ("[::1]:7", ("::1", 7)),
        ("::1", ("::1", 1883)),
        ("mqtt://teacher.local:80/", ("teacher.local", 80)),
    ],
)
def test_addresses(said: str, found: tuple[str, int]) -> None:
    assert joining.place(said) == found


@pytest.mark.parametrize(
    "wrong",
    [
        ["--seats", "0"],
        ["--seats", "9999"],
        ["--steps", "161"],
        ["--pace", "-1"],
        ["--race", "ring"],
        ["--word", "?"],
        ["--page", "/nowhere/at/all.html"],
    ],
)
def test_a_class_that_cannot_be(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["class", "host", *wrong]) == 2
    assert "mtd class host:" in capsys.readouterr().err


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["class", "host", "--listen", "127.0.0.1", "--port", str(port)]) == 1
    assert f"--port {port + 1}" in capsys.readouterr().err


def test_a_broker_that_dies_is_started_again_where_it_was() -> None:
    with hosting.Broker("127.0.0.1", 0, "an owner's key") as broker:
        port = broker.port
        assert broker.tend() == ""
        os.kill(broker._process.pid, signal.SIGKILL)
        deadline = SYSTEM.deadline(20)
        while broker._process.is_alive():
            assert not deadline.is_over()
            SYSTEM.sleep(0.01)
        assert "started again" in broker.tend()
        with socket.create_connection(("127.0.0.1", port), 20):
            assert broker.port == port and broker.tend() == ""
