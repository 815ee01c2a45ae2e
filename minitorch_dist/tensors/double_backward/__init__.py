"""Gradients of gradients: a backward pass whose own steps are recorded, `create_graph=True`.

A gradient that records is an array. It has the numbers of a gradient and a tensor that remembers how they were
made. The functions of a node are written for arrays and run as they are; numpy asks this array what to do.

recording_array   the array
rules             its answers to numpy, in operations on tensors
inner_functions   functions that gradients call, each as one such operation
windows           where a view lies in its base
remade            arrays that a function keeps though no tensor holds them
simple_forms      convolutions, norms and recurrent layers, in operations that are easy to record
simple_pooling    pooling, resampling and diagonals in such operations, too
simple_products   products of many numbers, determinants, scattering and attention
closures          a node's functions, with recording arrays in place of those that they have kept
passes            the backward pass
"""
