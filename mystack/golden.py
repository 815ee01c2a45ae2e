"""Gradient descent with momentum: a heavy ball rolls down the loss.

v = momentum · v + gradient        speed: what is left of it, and a push by the slope
p = p - lr · v                     a step

The arguments, and what is remembered where, are those of torch.optim.SGD.
"""

from .face import tensors as torch
from .face.optim import Optimizer


class SGD(Optimizer):
    """With `dampening` only a part of each push counts;
    `weight_decay` pulls the parameters towards 0.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
    ):
        options = {"lr": lr, "momentum": momentum, "dampening": dampening}
        options |= {"weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize}
        super().__init__(params, options)

    @torch.no_grad()  # a step is no part of the model: nobody wants its gradient
    def step(self, closure=None):
        """Move each parameter by its gradient; `closure` computes the loss anew."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:  # each has options of its own
            for p in group["params"]:
                if p.grad is not None:
                    self.move(p, self.state[p], **group)
        return loss

    def move(self, p, state, lr, momentum, dampening, weight_decay, nesterov, maximize, **others):
        """One step of one parameter. `state` is a dictionary that belongs to it, empty at first."""
        grad = -p.grad if maximize else p.grad
        if weight_decay:
            grad = grad + weight_decay * p
        push = grad
        if momentum:
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = grad.clone()
            else:
                state["momentum_buffer"].mul_(momentum).add_(grad, alpha=1 - dampening)
            velocity = state["momentum_buffer"]
            push = grad + momentum * velocity if nesterov else velocity
        p.sub_(push, alpha=lr)
