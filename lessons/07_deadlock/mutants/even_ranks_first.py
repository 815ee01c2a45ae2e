"""Even ranks send first, odd ones receive first: the repair of the textbooks.

It never waits in a circle. But every rank sends and receives one after the other, so it takes twice the time.

Caught by: rounds
Passes: right, never stuck, frozen
"""

# BLANK 1: by turns
if rank % 2 == 0:
    dist.send(tensor, right)
    dist.recv(received, left)
else:
    dist.recv(received, left)
    dist.send(tensor, right)
# END
