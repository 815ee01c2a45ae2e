"""The rarer parts of autograd. They attach to the core, which knows none of them.

grad_modes    `no_grad`, `enable_grad`, `inference_mode`
hooks         functions that are called when a gradient nodes         torch's names for a node, and what a checkpoint does to it
joint         operations with several results, or with one function for all gradients
overwriting   writes into a tensor that enter its history
passes        the pass that is running; passes with hooks, with `inputs`, or with an observer
"""
