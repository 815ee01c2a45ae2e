"""Parts are filled up to the largest, so that all are equal.

It is right, and needs no uneven exchange. Most of what is sent is zeros. Fixed parts are what compilers want, and this is their price.

Caught by: bytes
Passes: choice, seats, exchange, combine, correct
"""

# BLANK 5: equal parts, as long as the longest of all
rank, size = dist.get_rank(), dist.get_world_size()
longest = torch.tensor(max([*sent, *came]))
dist.all_reduce(longest, dist.ReduceOp.MAX)
most, first = int(longest), 0
filled = rows.new_zeros(size * most, rows.shape[1])
for to, count in enumerate(sent):
    filled[to * most : to * most + count] = rows.detach()[first : first + count]
    first += count
output = torch.zeros_like(filled)
dist.all_to_all_single(output, filled)
parts = [output[source * most : source * most + count] for source, count in enumerate(came)]
return torch.cat(parts).contiguous()
# END
