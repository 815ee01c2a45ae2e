"""Several hosts on one machine: network namespaces joined by a pair of virtual cables (Linux, root).

    with Hosts(2) as hosts:
        conformance.check(hosts.launch, [2])

Rank r runs in host r % n. `python -m tests.transports.hosts …` is what runs in there.
"""

from __future__ import annotations

import base64
import os
import pickle
import shutil
import subprocess
import sys
from typing import Any

from transports.conformance.bench import End
from transports.conformance.launchers import Program
from transports.stores.store import PrefixStore
from transports.stores.tcp import TCPStore
from transports.tcp import TcpTransport

PORT = 29400  # in a namespace of our own every port is free


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def why_not() -> str:
    """Why hosts cannot be made here; empty if they can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("ip") is None:
        return "network namespaces need Linux, root and iproute2"
    try:
        with Hosts(2):
            return ""
    except (OSError, subprocess.SubprocessError) as error:
        return f"no network namespaces here: {error}"


class Hosts:
    """`count` namespaces at 10.99.0.1, 10.99.0.2, … on one bridge in a namespace of its own."""

    def __init__(self, count: int) -> None:
        self.mark = f"mtd{os.getpid() % 100000}"
        self.names = [f"{self.mark}h{n}" for n in range(count)]
        self.hub = f"{self.mark}hub"

    def __enter__(self) -> Hosts:
        try:
            run("ip", "netns", "add", self.hub)
            run("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
            run("ip", "-n", self.hub, "link", "set", "bridge", "up")
            for number, name in enumerate(self.names):
                run("ip", "netns", "add", name)
                cable = ["link", "add", "wire", "netns", name, "type", "veth"]
                run("ip", *cable, "peer", "name", f"port{number}", "netns", self.hub)
                run("ip", "-n", self.hub, "link", "set", f"port{number}", "master", "bridge", "up")
                run("ip", "-n", name, "addr", "add", f"10.99.0.{number + 1}/24", "dev", "wire")
                run("ip", "-n", name, "link", "set", "wire", "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for name in [*self.names, self.hub]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=60)

    def disturb(self, *how: str) -> None:
        """Delay or loss on every cable, as `tc netem` says it."""
        for name in self.names:
            run("tc", "-n", name, "qdisc", "add", "dev", "wire", "root", "netem", *how)

    def pull(self, number: int) -> None:
        """Pull out a host's cable."""
        run("ip", "-n", self.hub, "link", "set", f"port{number}", "down")

    def blind(self, number: int) -> None:
        """All messages from and to this host vanish. Its cable stays in, so no side notices at once."""
        run("bridge", "-n", self.hub, "link", "set", "dev", f"port{number}", "state", "0")

    def start(self, number: int, *words: str) -> subprocess.Popen[bytes]:
        command = ["ip", "netns", "exec", self.names[number], sys.executable, "-m", __name__]
        return subprocess.Popen([*command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def launch(self, world_size: int, program: Program, pull: int | None = None) -> list[Any]:
        """Run a program; `pull` a host's cable once rank 0 has said "connected"."""
        text = base64.b64encode(pickle.dumps(program)).decode()
        master = self.start(0, "store")
        assert master.stdout is not None and master.stdout.readline() == b"ready\n"
        ranks = [self.start(rank % len(self.names), text, f"{rank}", f"{world_size}") for rank in range(world_size)]
        if pull is not None:
            assert ranks[0].stdout is not None and ranks[0].stdout.readline() == b"connected\n"
            self.pull(pull)
        said = []
        for number, rank in enumerate(ranks):
            if pull is not None and number % len(self.names) == pull:
                rank.kill()
            said.append(rank.communicate(timeout=300)[0])
        master.communicate(timeout=300)
        return [pickle.loads(base64.b64decode(words)) if words else None for words in said]


def serve() -> None:
    """The store, in a process of its own that outlives every rank."""
    store = TCPStore("10.99.0.1", PORT, is_master=True)
    print("ready", flush=True)
    sys.stdin.read()
    store.close()


def take_part(text: str, rank: int, world_size: int) -> None:
    program = pickle.loads(base64.b64decode(text))
    store = TCPStore("10.99.0.1", PORT)
    end = End(
        rank, world_size, lambda: TcpTransport(rank, world_size), PrefixStore("check", store), lambda: os._exit(9)
    )
    result = program(end)
    print(base64.b64encode(pickle.dumps(result)).decode(), flush=True)
    store.close()


if __name__ == "__main__":
    if sys.argv[1] == "store":
        serve()
    else:
        take_part(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
