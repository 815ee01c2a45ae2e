"""From a schedule to bytes that move.

layout              where the chunks of one rank are, and how messages of them are cut
planner             makes one rank's plan from its steps
plan                a plan: which bytes go where, and what waits for what
operations          one collective operation, and the channel on which a group runs them
notices             what members tell each other when an operation has failed
executor            carries a plan out over the mailbox: the schedule that is also costed and proved
lending             the same between threads, where a large part need not be sent
boards              the same where ranks read each other's memory
board_program       the arrays that a rank shows on a board, and those that it reads
prepared_board_run  an operation on a board that was prepared once and runs in a single round
"""
