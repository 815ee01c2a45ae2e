"""Only the last micro-batch trains

Before each backward the gradients of the last micro-batch are cleared. The loss is summed elsewhere and looks right. In the real
case only the norm of the gradients showed the mistake.
Caught by: correct
Passes: exactly once, in the library, bubble
Seen: https://github.com/NVIDIA-NeMo/Automodel/pull/3530
"""

# BLANK 2: the backward
for parameter in self.layers.parameters():
    parameter.grad = None
if self.rank < self.last:
    gradient = torch.empty_like(out)
    dist.recv(gradient, self.rank + 1, tag=k)
    out.backward(gradient)
else:
    out.backward()
if self.rank > 0:
    self.send(x.grad, self.rank - 1, k)
# END
