"""Any answer that comes is taken for the answer to the last request.

With one call after the other, and nothing lost, it always is. An answer that is late is taken for the answer to another call.

Caught by: answered
Passes: never stuck
Seen: https://github.com/EsotericSoftware/kryonet/pull/71
Seen: https://github.com/dusk-audio/dusk-studio/issues/370
"""

# BLANK 3: the newest call's
if self.open:
    _, future = self.open.popitem()
    future.outcome = outcome
# END
