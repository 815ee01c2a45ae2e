"""The latency is paid at the sender and once more at the receiver.

A message alone takes 2α + βn. With one big message nobody notices; with many small ones it doubles.

Caught by: leaves, correct, as the library
Passes: lands, received, monotone, silent
Seen: https://github.com/astra-sim/astra-network-analytical/issues/12
"""

# BLANK 1: begins to leave when the latency is over, which is in `hold` already
begins = max(now, self.sending_free[src])
self.sending_free[src] = begins + self.hold(nbytes)
return begins + self.alpha
# END
