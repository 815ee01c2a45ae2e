"""The second forward draws new random numbers.

Dropout drops other numbers in backward than it did in forward, so the gradients are those of another loss. The loss of real trainings was
worse by a tenth, or grew without bound, and it depended on nothing but the switch for checkpoints.

Caught by: same dice
Passes: correct, frozen inputs, memory, time
Seen: https://github.com/openai/guided-diffusion/issues/167
Seen: https://github.com/allenai/OLMo-core/pull/828
"""

# BLANK 2: without the dice of the first forward
with torch.enable_grad():
    output = ctx.module(*inputs)
# END
