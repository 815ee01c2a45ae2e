"""In rows, the gradients of norms and biases are not added up.

Each rank holds all of these parameters, and has used them for its own rows only. After the first step the ranks hold different norms. In
one engine the loss stayed at 8.

Caught by: rows, trains
Passes: correct, heads, bytes
Seen: https://github.com/NVIDIA/Megatron-LM/issues/1446
Seen: https://github.com/EleutherAI/gpt-neox/pull/1257
"""

# BLANK 13: as it is
return p
# END
