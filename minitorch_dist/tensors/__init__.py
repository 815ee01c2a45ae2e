"""Arrays with a memory: numpy underneath, PyTorch's names on top, gradients in between.

Lowest first: a module imports only what stands before it.

    heap threads quiet              numpy's memory, its threads, its warnings
    dtypes size return_types        values without behaviour
    grad_mode determinism           whether operations are recorded; torch's switches
    windows exact                   where a view lies in its base; logarithms with the same bits everywhere
    watch work                      who wants to know what is recorded, and how much is multiplied
    pools devices                   the simulated accelerators, and where a tensor says it lives
    holdings ledger storage         who holds which bytes, and how often they were written
    base                            what a tensor is, before it can do anything
    generator distributions         random numbers: a stream for each seed
    hooks kept view_notes           what is called, and what is kept, when gradients pass by
    nodes graph forgetting          one operation; how they are recorded; some that are computed again
    ready_queue engine              gradients travel back, the newest node first
    views printing                  sharing bytes and writing in place; how a tensor reads
    ops/                            the operations, each with its gradient beside it
    tensor                          the class that lists the operations as methods
"""
