"""A bucket leaves when it is full, whichever number it has.

This is right as long as all ranks compute their gradients in the same order. If they do not, one rank's first bucket is added to
another's second. If both have the same size there is no error: only wrong gradients.

Caught by: order, correct, never stuck
Passes: launch, average, frozen, time
Seen: https://github.com/deepspeedai/DeepSpeed/issues/2343
"""

# BLANK 1: without an order
if self.lacking[number] == 0:
    self.launch(self.buckets[number])
# END
