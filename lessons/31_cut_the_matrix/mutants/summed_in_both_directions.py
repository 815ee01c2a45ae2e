"""Leave sums up in backward, too, as the gradient of an all_reduce does in `torch.distributed.nn`.

That one adds up the losses of all ranks, and each rank has one of its own there. Here all ranks compute one and the same loss, so every
gradient below is P times as large. With one rank nobody notices.

Caught by: enter and leave, correct, trains
Passes: pieces, rows
Seen: https://github.com/NVIDIA/Megatron-LM/issues/559
Seen: https://github.com/inclusionAI/AReno/pull/496
"""

# BLANK 6: the gradients of all ranks are added up
total = grad.clone()
dist.all_reduce(total)
return total
# END
