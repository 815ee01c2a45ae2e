"""Ranks as processes: start them, look after them, start all again when one is killed (as torchrun and mtdrun do).

A launcher keeps what outlives every rank: the store at which they meet, and the office with the checkpoint.
"""

import json
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

from .. import generations, meeting, stream
from . import broker, distributed, examine, folder, machines, remote, world
from .errors import DistTimeout, PeerLost
from .failures import Failed, in_words
from .processes import LOST, UNREAD, look_after, start
from .programs import TRAINED
from .store import Keeper, PrefixStore, Store

PROGRAMS = {**TRAINED, "rpc": remote.remote, "examine": examine.together}
LIVES = 4  # how often all ranks are started, at most
LOOPBACK = ("127.0.0.1", 0)  # for this machine only, at any port that is free


class Machine:
    """The launcher as a machine of lesson 29's office. It never sleeps, so its time is its own."""

    rank, time = 0, 0.0

    def act(self, what):
        """(In the lesson, a machine may die here.)"""

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += max(0.0, seconds)


def launch(program, ranks, options, say=print):
    """Run one of the `PROGRAMS` on so many ranks. Returns the ranks' results; Failed says what went wrong.

    Some of the ranks may run on other machines: options["here"] says how many run on this one.
    """
    machine, office = Machine(), generations.Office(None)
    here = options.get("here") or ranks
    keeper = Keeper(office, machine, options["host"] if here < ranks else LOOPBACK)
    said = "it was interrupted on the first machine"
    try:
        machines.gather(keeper, ranks, here, say)
        results = run(program, ranks, here, options, keeper, say)
        said = ""
        return results
    except Failed as error:
        said = str(error)
        raise
    finally:
        machines.dismiss(keeper, ranks, here, said)
        keeper.close()


def run(program, ranks, here, options, keeper, say):
    """Start the ranks of this machine, all again when one was killed. Returns the results of all ranks."""
    for turn in range(LIVES):
        generation, _ = keeper.office.join(keeper.machine)
        with tempfile.TemporaryDirectory(prefix="mystack-") as place:
            asked = options | {"program": program, "ranks": ranks, "place": place}
            asked |= {"store": keeper.address, "generation": generation}
            keeper.set(json.dumps(asked).encode(), f"asked/{turn}")
            processes = [start(asked) for _ in range(here)]
            ended = look_after(processes, options.get("limit"), partial(keeper.has, f"over/{turn}"))
        if not any(ended):
            return [
                json.loads(keeper.values[f"{generation}/result/{rank}"]) for rank in range(ranks)
            ]
        keeper.set(b"", f"over/{turn}")
        if UNREAD in ended:
            raise BrokenPipeError("nobody reads what is printed")
        said = keeper.values.get(f"{generation}/failure")
        if keeper.trouble or said:
            text = said.decode() if said else in_words(keeper.trouble, "the launcher")
            raise Failed(text, keeper.values.get(f"{generation}/asking", b"").decode())
        if not any(status < 0 or status == LOST for status in ended):
            said = f"ranks ended with status {ended}, and did not say why; or they never came to an end"
            raise Failed(said, keeper.values.get(f"{generation}/asking", b"").decode())
        step = keeper.office.checkpoint.step + 1
        say(f"a rank was killed; all begin again after step {step}")
    raise Failed(f"ranks were killed {LIVES} times")


# ------------------------------------------------------------------------------ within such a process


class Here:
    """The rank, the world and the generation that a program runs in."""

    def __init__(self, asked):
        self.generation, self.store = asked["generation"], Store(asked["store"])
        own = PrefixStore(str(self.generation), self.store)
        self.meeting = meeting.Meeting.join(own, asked["ranks"])
        self.rank, self.size = self.meeting.rank, self.meeting.size
        self.own = own
        if asked["wire"] == "file":
            wire = folder.FolderTransport(self.rank, self.size, asked["place"])
        elif asked["wire"] == "mqtt":
            run = Path(asked["place"]).name
            wire = broker.BrokerTransport(self.rank, self.size, asked["broker"], run)
        else:
            wire = stream.StreamTransport(self.rank, self.size)
            wire.host = self.store.here
        self.world = world.enter(self.rank, self.size, own, wire)
        self.world.patience = asked["patience"]
        distributed.algorithm = asked["all_reduce"]


def live(asked):
    """A rank, from its beginning to its end. Returns the exit status."""
    where, store = "a rank", None
    try:
        store = PrefixStore(str(asked["generation"]), Store(asked["store"]))
        here = Here(asked)
        where = f"rank {here.rank}"
        here.meeting.together(asked["program"])
        result = PROGRAMS[asked["program"]](here, asked)
        here.own.set(f"result/{here.rank}", json.dumps(result))
        here.meeting.barrier()  # nobody leaves while others may still need an answer
        here.world.leave()
        return 0
    except PeerLost:
        return LOST
    except BaseException as error:
        tell(store, in_words(error, where))
        return 1


def tell(store, said):
    """Leave word for the launcher in the store; say it here if the store cannot be reached."""
    if store is not None:
        with suppress(OSError, DistTimeout):
            store.compare_set("failure", "", said)
            return
    print(said, file=sys.stderr)
