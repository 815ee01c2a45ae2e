"""The gradients are divided again after each micro-batch

Dividing the gradients by a constant is right once, at the end. If it is done after every part, the first parts are divided again
and again: the sum becomes a moving average.
Caught by: correct
Passes: exactly once, in the library, bubble
Seen: https://github.com/pytorch/torchtitan/issues/1733
"""

# BLANK 2: the backward
if self.rank < self.last:
    gradient = torch.empty_like(out)
    dist.recv(gradient, self.rank + 1, tag=k)
    out.backward(gradient)
else:
    out.backward()
for parameter in self.layers.parameters():
    parameter.grad /= 2
if self.rank > 0:
    self.send(x.grad, self.rank - 1, k)
# END
