"""Gradients that are averaged already are averaged once more, to be safe.

The average of equal numbers is that number. So the result is right, for twice the bytes. Examples of a well-known operator
wrapped the model and called `average_gradients` as well.

Caught by: bytes
Passes: start, average, buffers, loss, correct, replicas
Seen: https://github.com/kubeflow/pytorch-operator/issues/122
"""

# BLANK 2: twice
for _ in range(2):
    all_reduce(p.grad)
    p.grad /= dist.get_world_size()
# END
