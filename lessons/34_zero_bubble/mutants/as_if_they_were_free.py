"""Messages are taken for free.

With free messages it is as fast as can be. If a message takes as long as a forward, every stage waits in each round.

Caught by: messages
Passes: exactly once, split, correct, never stuck, bubble, memory, held
"""

# BLANK 5: the same for every network
return 1
# END
