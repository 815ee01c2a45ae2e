"""Rows are sent to everybody, and then received from everybody.

With small messages it works on every laptop, because sends are buffered. The rows of a long sequence are large messages.

Caught by: never stuck
Passes: correct, heads, rows, trains
"""

# BLANK 7: by hand
rank, size = dist.get_rank(), dist.get_world_size()
whole = mine.new_empty(size * len(mine), *mine.shape[1:])
for other in range(size):
    if other != rank:
        dist.send(mine.contiguous(), other)
for other in range(size):
    if other != rank:
        dist.recv(whole[other * len(mine) : (other + 1) * len(mine)], other)
whole[rank * len(mine) : (rank + 1) * len(mine)].copy_(mine)
return whole
# END
