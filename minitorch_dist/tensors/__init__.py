"""Arrays with a memory: numpy underneath, PyTorch's names on top, gradients in between.

The floors, lowest first (each imports only what stands above its line here):

    heap                            what becomes of freed memory
    dtypes pools devices grad_mode  values without behaviour
    holdings ledger storage         who holds which bytes, and how often they were written
    base graph engine               what a tensor is; how operations are recorded and run backwards
    ops/*                           the operations, each with its gradient beside it
    tensor                          the class that lists the operations as methods
"""
