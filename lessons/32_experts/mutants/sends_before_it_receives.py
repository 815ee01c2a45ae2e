"""Each rank sends to all, and then receives from all.

Caught by: never stuck
Passes: choice, seats, exchange, combine, correct
"""

# BLANK 5: by hand
rank, size = dist.get_rank(), dist.get_world_size()
ours, theirs = (
    list(rows.contiguous().split(sent)),
    list(rows.new_empty(sum(came), rows.shape[1]).split(came)),
)
for other in range(size):
    if other != rank and sent[other]:
        dist.send(ours[other], other)
for other in range(size):
    if other != rank and came[other]:
        dist.recv(theirs[other], other)
theirs[rank] = ours[rank]
return torch.cat(theirs)
# END
