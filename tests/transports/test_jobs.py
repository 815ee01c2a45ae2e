"""Two jobs at one port, file or broker: which are told apart, and in which words."""

from __future__ import annotations

import hmac
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.transports import ends
from transports import identity, job, keys
from transports.clock import SYSTEM
from transports.errors import DistNetworkError, OtherJob, TrustError
from transports.identity import PeerIdentity
from transports.job import JobCard, JobMarks, Launched
from transports.plain_text import clean
from transports.shared_file import signed_file
from transports.sockets import endpoints, handshake
from transports.sockets.auth_listener import AuthListener, ask_whose, dial
from transports.sockets.handshake import Claim
from transports.stores.file import FileStore
from transports.stores.tcp import TCPStore

KEY = b"k" * 32


def process(pid: int) -> PeerIdentity:
    return PeerIdentity("host", "a boot", "numbers", pid, 7 * pid)


def one_of(id: str = "", script: str = "train.py", size: int = 2, rank: int = 0, by: int = 0, pid: int = 1) -> JobCard:
    """A process of a job: launched if it has an id."""
    launched = Launched(id, script=script, user="ada", by=process(by) if by else None) if id else None
    return JobCard(launched, script, size, rank, process(pid), "ada", "2026-01-02 03:04:05")


# ---------------------------------------------------------------------------------------- the rules


APART: dict[str, tuple[JobCard, JobCard]] = {
    "two launched jobs": (one_of("a"), one_of("b")),
    "one of them by hand": (one_of("a"), one_of()),
    "two launched by one process": (one_of("a", by=5), one_of("b", by=5, pid=2)),
    "two scripts by hand": (one_of(), one_of(script="other.py")),
    "two sizes by hand": (one_of(), one_of(size=3)),
    "a store of agents": (one_of("a").among_agents(), one_of("a")),
}
TOGETHER: dict[str, tuple[JobCard, JobCard]] = {
    "one id": (one_of("a"), one_of("a", script="other.py", size=7)),
    "by hand": (one_of(rank=0, pid=1), one_of(rank=1, pid=2)),
    "sizes that are not known": (one_of(size=0, script="a.py"), one_of(script="b.py")),
    "scripts that are not known": (one_of(script=""), one_of()),
    "a process and those it has launched": (one_of(pid=5), one_of("a", by=5)),
    "agents of two jobs": (one_of("a").among_agents(), one_of("b").among_agents()),
}


@pytest.mark.parametrize("name", [*APART, *TOGETHER])
def test_which_jobs_are_two(name: str) -> None:
    one, other = {**APART, **TOGETHER}[name]
    for left, right in ((one, other), (other, one)):
        assert job.are_apart(left.marks(), right.marks()) == (name in APART)


@given(
    *[
        st.builds(one_of, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "x.py", "y.py"]), st.integers(0, 3))
        for _ in range(2)
    ]
)
def test_no_launched_job_meets_another_and_everybody_meets_its_like(one: JobCard, other: JobCard) -> None:
    assert not job.are_apart(one.marks(), one.marks())
    assert job.are_apart(one.marks(), other.marks()) == job.are_apart(other.marks(), one.marks())
    if one.id != other.id:
        assert job.are_apart(one.marks(), other.marks())


@given(st.builds(one_of, st.text(), st.text(), st.integers(0, 2**31 - 1), by=st.integers(0, 9)))
def test_marks_come_back(one: JobCard) -> None:
    marks = one.marks()
    assert job.unpacked(marks.packed()) == marks and len(marks.packed()) == job.LENGTH


@pytest.mark.parametrize("length", [0, 1, job.LENGTH - 1, job.LENGTH + 1])
def test_other_bytes_are_no_marks(length: int) -> None:
    with pytest.raises(ValueError, match="no marks of a job"):
        job.unpacked(bytes(length))


# ----------------------------------------------------------------------------------- the environment


@pytest.fixture(autouse=True)
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(job.VARIABLE, raising=False)
    monkeypatch.delenv(job.ELASTIC, raising=False)


def test_each_launch_draws_another_id(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {job.here(value=job.draw()).id for _ in range(20)}
    assert len(ids) == 20 and "" not in ids and job.here().id == ""
    monkeypatch.setenv(job.VARIABLE, job.draw())
    outer = job.here().id
    inner = job.here(value=job.draw()).id  # a rank that launches a job of its own
    assert outer and inner not in (outer, "")


def test_spawn_is_a_whole_job_only_where_it_started_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other hosts may have started the rest of a larger world, with an id of their own."""
    spawned = job.draw(4)
    assert [bool(job.here(size, value=spawned).id) for size in (1, 4, 5, 8, 0)] == [True, True, False, False, False]
    monkeypatch.setenv(job.VARIABLE, job.draw())
    outer = job.here().id
    assert job.here(8, value=job.draw(4)).id == outer  # under a launcher they are its ranks


def test_an_id_whose_launcher_has_ended_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "from transports import job; print(job.draw())"
    stale = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert job.read(stale)[0].id and job.here(value=stale).id == ""
    monkeypatch.setenv(job.VARIABLE, stale)
    assert len(job.read(job.draw())) == 2 and job.here(value=job.draw()).id
    elsewhere = json.loads(stale)
    elsewhere[0]["by"]["boot"] = "another machine, or a container"
    assert job.here(value=json.dumps(elsewhere)).id == elsewhere[0]["id"]


def test_names_that_people_give(monkeypatch: pytest.MonkeyPatch) -> None:
    assert job.here(value="my job").id == "my job" and job.here(value="[1, {]").id == "[1, {]"
    monkeypatch.setenv(job.ELASTIC, "job7")  # torchrun's own
    assert job.here().id == "job7"
    monkeypatch.setenv(job.ELASTIC, "none")
    assert job.here().id == ""
    assert job.here(value="a+b/#").plain_id == "a_b__"


@given(st.text())
def test_any_text_in_the_variable_can_be_read(text: str) -> None:
    assert isinstance(job.here(value=text), JobCard)
    assert clean(f"{job.here(value=text)}", lines=False) == f"{job.here(value=text)}"


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("/a/b/train.py", "train.py"),
        ("x/pkg/__main__.py", "pkg"),
        ("-c", ""),
        ("", ""),
        ("-m", ""),
        ("/x/ipykernel_launcher.py", ""),
    ],
)
def test_a_script_has_the_name_of_its_file(monkeypatch: pytest.MonkeyPatch, argument: str, name: str) -> None:
    monkeypatch.setattr(sys, "argv", [argument, "--rank", "1"])
    assert job.script_name() == name


# ------------------------------------------------------------------------------------- the handshake


@pytest.fixture
def listener() -> Iterator[Callable[[JobCard | None], AuthListener]]:
    """Listeners that are attended until the end."""
    made: list[AuthListener] = []
    over = threading.Event()

    def attend() -> None:
        while not over.is_set():
            for one in made:
                for connection, _ in one.wait(0.01):
                    connection.close()

    def make(of: JobCard | None) -> AuthListener:
        made.append(AuthListener(endpoints.listen("127.0.0.1", 0), KEY, SYSTEM, of))
        return made[-1]

    thread = threading.Thread(target=attend)
    thread.start()
    yield make
    over.set()
    thread.join()
    for one in made:
        one.close()


def call(port: int, of: JobCard | None) -> None:
    dial("127.0.0.1", port, KEY, Claim(1, 0), SYSTEM, SYSTEM.deadline(60), of).close()


@pytest.mark.parametrize("name", [*APART, *TOGETHER])
def test_a_listener_refuses_another_job_in_words(listener: Callable[[JobCard | None], AuthListener], name: str) -> None:
    one, other = {**APART, **TOGETHER}[name]
    port = listener(one).port
    if name in TOGETHER:
        call(port, other)
        assert ask_whose("127.0.0.1", port, KEY, SYSTEM.deadline(60), other) == (True, str(one))
    else:
        with pytest.raises(OtherJob) as caught:
            call(port, other)
        text = str(caught.value)
        assert str(one) in text and str(other) in text and "MASTER_PORT" in text and "29500" in text
        assert ask_whose("127.0.0.1", port, KEY, SYSTEM.deadline(60), other) == (False, str(one))


def test_a_listener_tells_strangers_nothing_of_its_job(listener: Callable[[JobCard | None], AuthListener]) -> None:
    port = listener(one_of("a")).port
    assert ask_whose("127.0.0.1", port, b"x" * 32, SYSTEM.deadline(60), one_of()) is None
    hello, _ = handshake.answer(KEY, handshake.greet(), Claim(0, handshake.WHO))
    assert b"train" not in hello and b"ada" not in hello
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.recv(1000)
        stranger.sendall(hello)  # for another greeting
        assert stranger.recv(1000) == handshake.REFUSAL and stranger.recv(1000) == b""


def test_a_dialer_believes_no_account_of_a_stranger() -> None:
    _, welcome = handshake.answer(KEY, handshake.greet(), Claim(0, 0))
    good = handshake.account(KEY, welcome, "job a\x1b[31m")
    assert handshake.read_account(KEY, welcome, good) == "job a\\x1b[31m"
    for place in range(0, len(good), 7):
        spoilt = bytearray(good)
        spoilt[place] ^= 1
        with pytest.raises(TrustError):
            handshake.read_account(KEY, welcome, bytes(spoilt))


@pytest.mark.parametrize("version", [0, 1, 3, 255])
def test_another_version_is_named(version: int) -> None:
    greeting = handshake.MAGIC[:-1] + bytes([version]) + bytes(handshake.NONCE)
    with pytest.raises(TrustError, match=rf"with version {version} of the handshake.*speaks version 2\. Install"):
        handshake.answer(KEY, greeting, Claim(0, 0))


# -------------------------------------------------------------------------------------------- stores


@pytest.mark.parametrize("name", APART)
def test_a_tcp_store_is_one_jobs(name: str) -> None:
    one, other = APART[name]
    store = TCPStore("127.0.0.1", 0, is_master=True, of=one)
    store.set("secret", "of one")
    for is_master in (False, True):
        with pytest.raises(OtherJob) as caught:
            TCPStore("127.0.0.1", store.port, is_master=is_master, timeout=60, of=other)
        assert str(one) in str(caught.value) and str(other) in str(caught.value)
    assert store.num_keys() == 1 and store.get("secret") == b"of one"
    store.close()


def test_a_second_master_of_one_job_is_told_who_is_there() -> None:
    store = TCPStore("127.0.0.1", 0, is_master=True, of=one_of())
    with pytest.raises(DistNetworkError) as caught:
        TCPStore("127.0.0.1", store.port, is_master=True, of=one_of(pid=2))
    assert not isinstance(caught.value, OtherJob)
    assert f"is here already: {one_of()}. This is {one_of(pid=2)}" in str(caught.value)
    store.close()


def test_a_port_that_another_program_holds() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as held,
        pytest.raises(DistNetworkError, match=r"cannot listen on .* is held by pid"),
    ):
        TCPStore("127.0.0.1", held.getsockname()[1], is_master=True, of=one_of("a"))


@pytest.mark.parametrize("name", [*APART, *TOGETHER])
def test_a_file_store_is_one_jobs(tmp_path: Path, name: str) -> None:
    one, other = {**APART, **TOGETHER}[name]
    first = FileStore(tmp_path / "store", 3, of=one)
    first.set("k", "v")
    if name in TOGETHER:
        second = FileStore(tmp_path / "store", 3, of=other)
        assert second.get("k") == b"v"
        second.close()
    else:
        with pytest.raises(OtherJob) as caught:
            FileStore(tmp_path / "store", 3, of=other)
        text = str(caught.value)
        assert str(one) in text and str(other) in text and "a file of its own" in text
    assert first.get("k") == b"v"
    first.close()
    # Now nobody uses it, and three were awaited: another job must not find what is in it.
    if name in APART:
        with pytest.raises(OtherJob, match="have all ended: if it is over, run: rm"):
            FileStore(tmp_path / "store", 3, of=other)


def test_the_page_of_a_mapped_file_names_its_job(tmp_path: Path) -> None:
    terms = signed_file.Terms("rings", 2, 4096, os.urandom(16), "boot", "process 1 on host", "a/0")
    with ends.kept(signed_file.make(tmp_path / "world", terms, KEY)) as held:
        assert signed_file.read_terms(terms.page(KEY), KEY) == terms
        signed_file.attach(held.path, terms.generation, KEY, "a/0").leave()
        for other in ("b/0", "a/1", ""):
            with pytest.raises(OtherJob, match=r"made by process 1 on host for job a/0, and this is"):
                signed_file.attach(held.path, terms.generation, KEY, other)


def test_a_page_of_the_version_before_is_still_swept_and_no_longer_read(tmp_path: Path) -> None:
    head = struct.pack("<8sHHIQ16s64s64s", b"mtdmeets", 2, 0, 2, 4096, bytes(16), b"boot", b"process 1 on host")
    page = head + hmac.digest(KEY, head, "sha256") + bytes(500)
    path = tmp_path / f"world.{bytes(16).hex()}.rings"
    path.write_bytes(page)
    path.chmod(0o600)
    (said,) = signed_file.sweep(tmp_path / "world")
    assert "left by process 1 on host" in said and not path.exists()
    for version in (2, 9):
        with pytest.raises(TrustError, match=f"is of version {version}, and this program speaks 3"):
            signed_file.read_terms(page[:8] + bytes([version, 0]) + page[10:], KEY)


def test_worlds_of_one_job_differ_by_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert job.world_name(2) == ""
    monkeypatch.setenv(job.VARIABLE, job.draw(id="a"))
    names = {job.world_name(2)}
    for generation in (0, 1):
        monkeypatch.setenv(keys.GENERATION, f"a/{generation}")
        names.add(job.world_name(2))
    assert names == {"a", "a/0", "a/1"}


def test_a_launcher_that_lives_is_not_over() -> None:
    assert not Launched("a", by=identity.here()).is_over(identity.here())
    assert not Launched("a").is_over(identity.here())
    assert JobMarks().packed() == bytes(job.LENGTH)
