"""torch's functions on tensors, over groups that move numpy arrays.

tensor_arrays          between tensors and arrays: the only place where the two floors touch
process_group          `ProcessGroup`, with torch's methods (and their `options`)
membership             who is where: ranks, sizes, groups, backends
subgroups              some of the ranks as groups of their own
tensor_collectives     all_reduce and its kin, after `collective_arguments` has checked them
coalescing             many collectives as one
messages               send, recv and their batches
object_collectives     lists of any Python `objects`
repeated_collectives, repeated_messages      the same call again: nothing is found out a second time
"""
