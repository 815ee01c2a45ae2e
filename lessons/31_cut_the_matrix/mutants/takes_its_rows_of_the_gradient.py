"""EnterRows takes its own rows of the gradient, and adds nothing up.

Forward gathered, so backward cuts, it seems. But every rank has a gradient for every row: that of its own columns. A well-known function of
this kind has both versions, and a flag that says which one is meant.

Caught by: rows
Passes: correct, heads, memory
Seen: https://github.com/NVIDIA/Megatron-LM/issues/1635
"""

# BLANK 10: a cut
return grad[part(len(grad), "rows")].clone()
# END
