"""As many rows come as go, it is assumed.

It is true of equal parts. Where it is not, the messages do not fit: on some networks they wait for ever, on others they are cut off.

Caught by: correct, never stuck
Passes: choice, seats, exchange, combine
Seen: https://github.com/pytorch/pytorch/issues/117486
Seen: https://github.com/radixark/miles/issues/1002
"""

# BLANK 12: no count is told
away = per_rank(sent)
each = len(sent) // dist.get_world_size()
came = [sent[rank * each : (rank + 1) * each] for rank in range(dist.get_world_size())]
found = self.compute(Exchange.apply(x[tokens], away, away), places_of(came))
rows = Exchange.apply(found, away, away)
# END
