"""From a schedule to bytes that move.

planner  plan    what one rank has to do: which bytes go where, and what waits for what
operations       one collective operation, and the channel on which a group runs them
notices          what members tell each other when it has failed
executor         carry a plan out over the mailbox: the same schedule that is costed and proved
boards           or where ranks read each other's memory (`once`: in a single round;
                 `showing`: which arrays a rank puts up)
lending          or where ranks are threads, and a large part need not be sent
"""
