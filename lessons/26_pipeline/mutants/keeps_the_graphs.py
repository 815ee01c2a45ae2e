"""A list keeps what each stage computed, after backward has used it.

The weights are right, and the memory of a step is never given back.

Caught by: correct
Passes: exactly once, bubble
"""

# BLANK 2: with a list of all that went out
self.went_out = [*getattr(self, "went_out", []), out]
if self.rank < self.last:
    gradient = torch.empty_like(out)
    dist.recv(gradient, self.rank + 1, tag=k)
    out.backward(gradient)
else:
    out.backward()
if self.rank > 0:
    self.send(x.grad, self.rank - 1, k)
# END
