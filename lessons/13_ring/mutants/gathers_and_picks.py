"""all_to_all by all_gather: everybody gets everything, and picks out its parts

It is right, and sends P times as much as is needed.

Caught by: all_to_all
Passes: correct, all_gather, reduce_scatter
"""

# BLANK 5: with the ring
rank, size = dist.get_rank(), dist.get_world_size()
everything = torch.empty_like(tensor.view(-1).repeat(size))
all_gather(everything, tensor)
for part, row in zip(chunks(output.view(-1), size), chunks(everything, size)):
    part.copy_(chunks(row, size)[rank])
# END
