"""The notes are thrown away.

The stage before gets its gradients, the loss falls, and the weights of the products have none. In a real engine they were put into a store that
only the zero-bubble schedule emptied. With any other schedule these weights were never trained.

Caught by: split, correct
Passes: exactly once, bubble
Seen: https://github.com/deepspeedai/Megatron-DeepSpeed/issues/442
"""

# BLANK 2: nothing is kept
self.backward(k)
self.late[k] = []
self.fresh.clear()
# END
