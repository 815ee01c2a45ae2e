"""PyTorch's `torch.distributed.autograd`: gradients that travel back along remote calls.

    with dist_autograd.context() as context_id:
        loss = model(x)                                  # calls functions of other workers
        dist_autograd.backward(context_id, [loss])       # gradients go back where tensors came from
        grads = dist_autograd.get_gradients(context_id)  # of this worker's tensors; `.grad` is left alone

Read `contexts` (a context, as each worker remembers it), then `travelling` (how a call enters the graph), then
`passes` (the part of one worker in a backward pass). `gradients` has torch's functions.
"""

from minitorch_dist.distributed.autograd import contexts as contexts, travelling as travelling
from minitorch_dist.distributed.autograd.contexts import context as context
from minitorch_dist.distributed.autograd.gradients import backward as backward, get_gradients as get_gradients
from minitorch_dist.distributed.rpc.remote_calls import is_available as is_available
from minitorch_dist.inventory import not_offered

not_offered.guard(globals())
