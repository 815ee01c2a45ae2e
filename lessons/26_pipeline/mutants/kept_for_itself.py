"""The gradient of the stage's input is not sent on

Every stage computes its own weights' gradients, and forgets that the stage before waits for a gradient, too.
Caught by: correct, never stuck
Passes: exactly once, in the library
"""

# BLANK 2: the backward
if self.rank < self.last:
    gradient = torch.empty_like(out)
    dist.recv(gradient, self.rank + 1, tag=k)
    out.backward(gradient)
else:
    out.backward()
# END
