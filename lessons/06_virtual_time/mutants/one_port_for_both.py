"""A rank has one port, through which it sends and receives.

A link model in which both directions share the bandwidth: an exchange takes twice as long as it does.

Caught by: correct, as the library
Passes: leaves, lands, received, silent
Seen: https://github.com/osukhoroslov/dslab/issues/223
"""

# BLANK 2: the sending port's time
begins = max(now, self.sending_free[dst])
self.sending_free[dst] = begins + self.hold(nbytes)
return self.sending_free[dst]
# END
