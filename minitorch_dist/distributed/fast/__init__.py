"""Fast ways to carry out a collective. They give the bits of the messages, and register themselves with `prepared`.

boards         where ranks read each other's memory, nothing is sent
board_program  the arrays that a rank shows on a board, and those that it reads
board_call     a kind of operation on a board, prepared once and run again and again
borrowing      between threads, a large part is not sent: the receiver borrows it

With MINITORCH_DIST_SIMPLE=1 in the environment of all ranks none is used, and each collective is sent in messages.
"""

import os

from minitorch_dist.distributed import prepared
from minitorch_dist.distributed.fast import board_call, borrowing

if os.environ.get("MINITORCH_DIST_SIMPLE") != "1":
    prepared.binders.update(board=board_call.bind, borrowing=borrowing.bind)
