"""One counter for all rounds, and a waiting rank asks until it is the number of ranks.

In the second round it goes on from there, and never is that number again. A job that was started twice on
one store prints "world_size=4, worker_count=8" until its timeout.

Caught by: never stuck
Passes: ranks
Seen: https://github.com/pytorch/pytorch/issues/55967
Seen: https://github.com/ultralytics/yolov5/issues/4574
"""

# BLANK 2: the key has no round
self.round += 1
self.store.add("came", 1)
while self.store.add("came", 0) != self.size:
    pass
# END
