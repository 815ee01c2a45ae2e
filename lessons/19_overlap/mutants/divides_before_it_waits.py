"""The sum is divided while it is still being made.

An asynchronous all_reduce returns at once. So the division works on this rank's own part, or by luck on some of the sum. The
network then goes on with these numbers. A translation toolkit added `async_op=True`, and nothing else, to be faster. Later
somebody showed that training on 2 GPUs was worse than on 1.

Caught by: average, frozen
Passes: order, launch
Seen: https://github.com/OpenNMT/OpenNMT-py/issues/2295
"""

# BLANK 3: no wait
flat /= dist.get_world_size()
unpack(flat, bucket)
# END
