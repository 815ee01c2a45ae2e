"""torch's functions on tensors, over groups that move numpy arrays.

tensor_arrays         between tensors and arrays: the only place where the two layers touch
membership            the ranks, sizes, groups and backends of a world
subgroups             some of the ranks as groups of their own
tensor_collectives    all_reduce and its kin
collective_arguments  the checks of their arguments
messages              send, recv and their batches
objects               Python objects as bytes in arrays
object_collectives    collectives of Python objects
"""
