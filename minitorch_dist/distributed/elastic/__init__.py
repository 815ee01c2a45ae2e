"""torch's `distributed.elastic`: workers that are started together, and again if one fails.

Read `rendezvous.state` (what a job goes through), `rendezvous.membership` (how nodes take part),
`multiprocessing.workers` (the processes of a node), `agent` (the loop that joins them).
"""

from minitorch_dist.inventory import not_offered

not_offered.guard(globals())
