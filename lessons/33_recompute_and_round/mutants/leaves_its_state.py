"""The state of the random numbers stays where the second forward left it.

The gradients are right. But the next draw of anybody is one that was drawn already: the same dropout and the same noise come again and again.

Caught by: same dice
Passes: correct, frozen inputs, nested, memory, time
Seen: https://github.com/pytorch/pytorch/pull/14253
"""

# BLANK 2: set, and not put back
torch.set_rng_state(ctx.dice)
with torch.enable_grad():
    output = ctx.module(*inputs)
# END
