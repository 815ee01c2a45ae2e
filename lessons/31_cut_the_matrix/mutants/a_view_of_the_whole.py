"""The piece is a view, so the whole matrix stays in memory on each rank.

All results are right. The model does not fit where it should.

Caught by: pieces, memory
Passes: correct, heads, rows, trains, bytes
Seen: https://github.com/ModelTC/LightX2V/pull/1390
"""

# BLANK 2: without a copy
mine = part(len(whole.weight), "columns")
self.weight = nn.Parameter(whole.weight.detach()[mine])
self.bias = nn.Parameter(whole.bias.detach()[mine])
# END
