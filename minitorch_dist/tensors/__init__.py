"""Arrays with a memory: numpy underneath, PyTorch's names on top, gradients in between.

Lowest first: a module imports only what stands before it.

    core                            a tensor, the graph of what was computed, gradients that travel back
    dtypes promotion                types of elements; operands that differ in type or shape
    autograd                        the rarer parts: `no_grad`, hooks, several results, passes with `inputs`
    malloc_tuning threads           numpy's memory and its threads
    names                           arguments that have several names
    size return_types determinism   values without behaviour; torch's switches
    limits                          the largest and smallest numbers of each type
    portable_math                   logarithms with the same bits everywhere
    pools devices                   the names of devices; the simulated accelerators that exist
    storages                        the bytes under a tensor, with torch's methods
    shape_arrays                    arrays that have a shape and no numbers
    generator distributions         random numbers: a stream for each seed
    masks printing                  gradients that flow in some places only; how a tensor reads
    ops                             the operations, each with its gradient beside it
    state                           a tensor's fields as torch shows them
    tensor                          the class that lists the operations as methods
    makers                          functions that make tensors from nothing

The core imports numpy and nothing else of ours (`setup.cfg` holds that). These attach to it, see `core.observers` and `core.rare_cases`:

    ledger_report ledger            who holds which bytes of a simulated device
    closure_arrays ledger_observer  what a node keeps alive; what the core does, entered in the ledger
    flops                           how much is multiplied
"""
