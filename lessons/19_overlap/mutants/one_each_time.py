"""Each gradient that arrives lets one bucket go, and not all that can.

Bucket 1 was full first and had to wait for bucket 0. When that leaves, bucket 1 could follow at once. Here it waits for the next gradient, and
from then on each bucket is late by one layer. All results are right, so only a clock notices it.

Caught by: order, time
Passes: launch, average, correct, never stuck, frozen
"""

# BLANK 1: one at a time
if len(self.sent) < len(self.buckets) and self.lacking[len(self.sent)] == 0:
    self.launch(self.buckets[len(self.sent)])
# END
