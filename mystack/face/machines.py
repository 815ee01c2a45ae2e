"""Ranks on several machines: the first one's launcher keeps the store, and the others ask it what to start.

python -m mystack train --ranks 4 --here 2 --host 192.168.1.5    the first machine, with its address; it says what to type elsewhere
python -m mystack join 192.168.1.5:40123 --here 2                another machine

The store asks nobody for a password: use it in a network that you trust.
"""

import itertools
import json
from functools import partial

from .errors import DistTimeout
from .failures import Failed
from .processes import PACKAGE, look_after, start
from .store import Store

LEAVING = 5.0  # seconds in which they hear that all is over
DAY = 24 * 3600.0  # seconds: somebody has to type the command on the other machine


def gather(keeper, ranks, here, say):
    """Wait until other machines have promised to start the ranks that are not started here."""
    if here == ranks:
        return
    say(f"{here} of {ranks} ranks will run here; for the others type on another machine:")
    say(f"    python -m {PACKAGE} join {keeper.address} --here {ranks - here}")
    joined = keeper.wait_until("joined", ranks - here, DAY)
    if here + joined > ranks:
        raise Failed(f"{here} ranks here and {joined} on other machines are more than {ranks}")


def dismiss(keeper, ranks, here, said):
    """The launchers of other machines wait for the next turn: tell them that there is none, and what went wrong."""
    if not keeper.has("joined"):
        return
    turn = next(turn for turn in itertools.count() if not keeper.has(f"asked/{turn}"))
    keeper.set(json.dumps({"ranks": ranks, "ended": said}).encode(), f"asked/{turn}")
    keeper.wait_until("left", ranks - here, LEAVING)


def join(address, here, say=print):
    """Another machine's launcher: start so many ranks as often as the first one does. Failed says what went wrong."""
    try:
        store = Store(address)
    except (OSError, ValueError) as error:
        raise Failed(f"nobody waits at {address} ({error}); begin on the first machine") from error
    try:
        store.add("joined", here)
        for turn in itertools.count():
            store.wait([f"asked/{turn}"], DAY)
            asked = json.loads(store.get(f"asked/{turn}")) | {"store": address}
            if "ended" in asked:
                store.add("left", here)
                break
            say(f"{here} of {asked['ranks']} ranks start here")
            started(store, turn, asked, here)
    except (OSError, EOFError, DistTimeout) as error:
        raise Failed(f"the first machine has gone: {error}") from error
    if asked["ended"]:
        raise Failed(asked["ended"])
    say(f"all {asked['ranks']} ranks have ended well")


def started(store, turn, asked, here):
    """From the beginning of these ranks to their end, here or elsewhere."""
    processes = [start(asked) for _ in range(here)]
    is_over = partial(store.check, [f"over/{turn}"])
    if any(look_after(processes, asked.get("limit"), is_over)):
        store.set(f"over/{turn}", "")
