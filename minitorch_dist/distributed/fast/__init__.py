"""Fast ways to carry out a collective. They give the bits of the messages, and register themselves with `prepared`.

boards              where ranks read each other's memory, nothing is sent
board_program       the arrays that a rank shows on a board, and those that it reads
prepared_board_run  an operation on a board that was prepared once and runs in a single round
lending             between threads, a large part is not sent, but lent

With MINITORCH_DIST_SIMPLE=1 in the environment of all ranks none is used, and each collective is sent in messages.
"""

import os

from minitorch_dist.distributed import prepared
from minitorch_dist.distributed.fast import boards, lending

if os.environ.get("MINITORCH_DIST_SIMPLE") != "1":
    prepared.binders.update(board=boards.bind, lending=lending.bind)
