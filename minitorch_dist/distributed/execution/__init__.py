"""From a schedule to bytes that move.

chunks      where the chunks of one rank are, and how messages of them are cut
planner     makes one rank's plan from its steps
plan        a plan: which bytes go where, and what waits for what
operations  one collective operation, and the channel on which a group runs them
notices     what members tell each other when an operation has failed
executor    carries a plan out over the mailbox: the schedule that is also costed and proved
"""
