"""All good steps count, not only those in a row.

The scale grows again soon after it was too large. So steps are left out again and again.

Caught by: scale
Passes: correct, small updates, sums, together
"""

# BLANK 10: a bad step does not begin the count again
self.good += is_good
if not is_good:
    self.scale /= 2
elif self.good == self.patience:
    self.scale, self.good = self.scale * 2, 0
# END
