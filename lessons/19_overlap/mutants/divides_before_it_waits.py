"""The sum is divided while it is still being made.

An asynchronous all_reduce returns at once. What is divided is this rank's own part, or some of the sum, by luck; the network then goes
on with it. A translation toolkit was made faster by `async_op=True`, and nothing else; later somebody reproduced that
training on 2 GPUs was worse than on 1.

Caught by: frozen
Seen: https://github.com/OpenNMT/OpenNMT-py/issues/2295
"""

# BLANK 3: no wait
flat /= dist.get_world_size()
unpack(flat, bucket)
# END
