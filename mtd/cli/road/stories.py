"""Each trip in a few sentences: for docs/one_call.md, above the table, and for `mtd road`.

The table says which files a call enters. It does not say why: that is here. A word in *italics* stands in
docs/glossary.md.
"""

from __future__ import annotations

from typing import Final

STORIES: Final = {
    "backward": """\
Each operation computes with numpy and records a *node*: the operation, its inputs, and functions for their gradients.
`backward` starts at the last node with the gradient 1. The *engine* first counts how many edges lead to each node. Then it
takes a node from the *ready queue*, computes the gradients of its inputs, and hands them on. A node is ready when all its
gradients have arrived. A *leaf*, such as `a`, adds what arrives to `a.grad`.""",
    "step": """\
`zero_grad` forgets the old gradients. Calling a module runs its hooks and its `forward`, which calls an operation:
`linear`, then `cross_entropy`. Both record a *node*, as in the trip before, and `backward` goes the same way. Then the
*optimizer* walks over its parameters. The rule of SGD changes each array in place, piece by piece, so that a piece stays in
the processor's cache.""",
    "all_reduce": """\
The first call of a kind is prepared. Its arguments are checked. `choice` takes the quickest *algorithm*. `formulas` says how long
each of them takes, so that only the chosen one is asked for its steps. (Where a formula is only a lower bound, `choice` plays
the messages in *virtual time*. On two ranks this is not needed.) `planner` turns the steps of this rank into a *plan*: which
bytes go to which rank, and what has to wait for what. The result is a *prepared call*, and the *group* keeps it. Then the
call is run: the *executor* sends and posts receives as the plan says. The *mailbox* matches each arriving message with its
receive, and the *transport* moves the bytes.

The second call finds the *prepared call* and runs it. `callsite` notes your line, which error messages show.""",
    "send": """\
The call is checked, and gets a *header*: the group, the tag, a number, and your line for error messages. The *mailbox* hands
header and *payload* to the *transport*. tcp writes both to the connection of the other rank, with sixteen bytes of *frame*
in front. The first send of a kind leaves a prepared form behind, and later ones use it. Nothing waits here for the receiver.""",
    "ddp": """\
`backward` runs as in the first trip. A *hook* on each parameter tells the *reducer* that its gradient is complete. The
reducer divides the gradient by the number of ranks and copies it into its *bucket*. A full bucket is sent at once,
by an *all_reduce* in another thread, and `backward` goes on. The last bucket is sent by this thread, as nothing is left to
compute. Each bucket has its *prepared call* since it was built. At the end the reducer waits for all buckets and copies the averages to `.grad`.""",
    "fsdp": """\
Each rank keeps only its *shard* of the parameters. Before a *unit* computes, an *all_gather* collects the other shards, and
the *full parameters* are put in place. The all_gather was prepared when the model was wrapped,
so no algorithm is chosen here. The first forward also settles the order of the units. After its forward a unit frees the full
parameters, but the outermost unit keeps them for backward. This model has one unit only. So its second forward finds the
parameters whole, and gathers nothing.""",
    "rpc_sync": """\
The caller looks the *worker* up by its name. It writes the function's name and the arguments as bytes: that is the *codec*.
The call gets a number and a future, and the *transport* sends the request. Then the caller waits. It does not sleep: it
*drives* the transport, and takes in what arrives. The answer carries the number of the call. So its future is found, the
value is read from the bytes, and the call returns. The other side is not listed: start at `serve.py`.""",
}
