"""The record of a run, over any transport: one line per send, receive, operation, wait.

    launch(train, 4, "tcp://", journal="run.mtd")          or MINITORCH_DIST_JOURNAL=run.mtd

    run = journal.read("run.mtd")
    run.events, run.messages, run.operations, run.of(rank=2)
    run.happened_before(17, 40)                            independent of the clocks
    print(journal.diff(run, journal.read("other.mtd")))    where two runs first part

The same program writes the same journal over queue, tcp, file, mqtt and in simulation: not the same
times, but the same events in the same partial order.

    events  files  rank_recorder  a line; the file; the recorder that writes it
    reading  order                from files to events; the order of events, and pairs of them
    run  comparing                a journal that was read, and its picture; two of them
"""

from minitorch_dist.distributed.journal.comparing import Divergence as Divergence
from minitorch_dist.distributed.journal.events import Event as Event, JournalError as JournalError
from minitorch_dist.distributed.journal.files import VARIABLE as VARIABLE
from minitorch_dist.distributed.journal.order import Message as Message, Operation as Operation
from minitorch_dist.distributed.journal.run import (
    Journal as Journal,
    diff as diff,
    from_lines as from_lines,
    read as read,
)
