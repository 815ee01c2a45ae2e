"""Which layout trains a model fastest on these GPUs? `mtd plan` asks; this answers, by running the training step.

model_files      a model in a few lines of TOML
layouts          how it is divided: pipeline × replicas × shards × tensor
layout_words     one layout, as people say theirs
transformer      the model, and a part of it for each stage
kept_results     checkpointing that keeps some results
tiled_attention  attention that writes all weights to memory, and one that never holds the table of them
context_attention  attention whose sequence is cut over ranks
experts          a mixture of experts, which may lie on other ranks
kernels          the kernels that pointwise operations are
cutting          a part of it, cut for tensor parallelism
parallel_loss    cross entropy of logits that are cut by words
offloading       what the memory of the host keeps
training_step    a step on every rank
    kernel_fits      what published tables of kernels say of a device
    clusters         the GPUs, and the network between them
    formula          what a layout takes, by a plain formula
    short_runs       which short steps tell a long one
    search           all layouts, and their simulation
    bounds           the time below which a layout cannot be
    unhidden_time    the part of it in which something is sent that nothing hides
    pruning          layouts that can still be the fastest are simulated
    in_processes     several layouts at once
    plan_cache       what was found before: an interrupted plan goes on
    reasons          why one is slower than another, and what failures cost
    saved_plans      plans in files, and how two differ

    fold             ranks that do the same run the program once: `sim.run(…, fold=True)`
    caching_allocator  the memory that torch would reserve
"""
