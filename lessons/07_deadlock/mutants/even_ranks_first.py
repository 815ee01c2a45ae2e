"""Even ranks send first, odd ones receive first: the repair of the textbooks.

It never waits in a circle. But no rank sends and receives at once, so long messages take twice the time. With an odd number of ranks two
neighbours both send first, which costs a round.

Caught by: rounds
Passes: correct, never stuck, frozen
"""

# BLANK 1: by turns
if rank % 2 == 0:
    dist.send(tensor, right)
    dist.recv(received, left)
else:
    dist.recv(received, left)
    dist.send(tensor, right)
# END
