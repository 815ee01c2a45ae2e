"""The parameters are no arguments of the checkpoint.

Backward adds to the gradients of the parameters by itself, and that is right as long as an input needs a gradient. If the layers before
are frozen, or the input is data, then no graph is recorded. The model trains without these layers.

Caught by: frozen inputs
Passes: correct, same dice
Seen: https://github.com/huggingface/transformers/issues/21381
Seen: https://github.com/pytorch/pytorch/issues/7617
"""

# BLANK 3: parameters get theirs in passing
output.backward(gradient)
found = [each.grad for each in inputs]
# END
# BLANK 4: the inputs alone
return Recomputed.apply(module, len(inputs), *inputs)
# END
