"""The server waits for workers that have left.

As soon as the shares differ by one batch, the last epoch never ends.

Caught by: correct, never stuck
Seen: https://github.com/apache/mxnet/issues/7888
Seen: https://github.com/apache/mxnet/issues/9611
Seen: https://github.com/apache/mxnet/issues/17651
"""

# BLANK 2: its clock stands still
self.clocks[worker] += 0
# END
