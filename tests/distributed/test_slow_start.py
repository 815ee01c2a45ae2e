"""Whoever waits for others to begin says for whom."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from minitorch_dist.distributed import slow_start
from tests.transports.brokers import free_port
from transports.clock import SYSTEM
from transports.stores.store import HashStore

PROGRAM = """
import sys
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import rpc
rank, size = int(sys.argv[2]), 3
if sys.argv[1] == "rpc":
    rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
else:
    dist.init_process_group("gloo", rank=rank, world_size=size)
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["rpc", "collectives"])
def test_what_is_said(what: str) -> None:
    port = str(free_port())
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "MINITORCH_DIST_SLOW": "0.3",
        "MINITORCH_DIST_KEY": "of this test",
    }

    def line_of(rank: int, *words: str) -> str:
        """The first line with these words: on a slow machine the first one may be of an earlier wait."""
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, what, str(rank)], env=environment, text=True, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        try:
            return next(line for line in process.stderr if all(word in line for word in words))
        finally:
            process.kill()
            process.communicate()

    name = "init_rpc of 'w{}'" if what == "rpc" else "init_process_group"
    begins = rf"{name} has waited \d+ s for "
    said = line_of(1, "the store")
    place = re.escape(f"the store at 127.0.0.1:{port}, which rank 0 serves")
    assert re.match(begins.format(1) + place, said), said
    assert "Connection refused. Was rank 0 started, and with this address and port?" in said
    said = line_of(0, "Were they started?")
    assert re.fullmatch(begins.format(0) + r"ranks 1, 2 of a world of 3\. Were they started\?\n", said), said


def test_words() -> None:
    store = HashStore()
    store.set("here/0", b"1")
    assert slow_start.of_ranks(store, 2) == "rank 1 of a world of 2. Were they started?"
    store.set("here/1", b"1")
    assert slow_start.of_ranks(store, 2).startswith("connections to the others")
    assert slow_start.of_store("file:///tmp/x") == "the store of file:///tmp/x"


def test_nothing_is_left(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    for seconds in ("0", "0.001"):
        monkeypatch.setenv("MINITORCH_DIST_SLOW", seconds)
        with pytest.raises(KeyError), slow_start.saying("a test", SYSTEM):
            SYSTEM.sleep(0.02)
            while seconds != "0" and not caplog.messages:
                SYSTEM.sleep(0.001)
            assert seconds != "0" or not caplog.messages
            raise KeyError
    assert re.match(r"a test has waited \d+ s for the others", caplog.messages[0])
