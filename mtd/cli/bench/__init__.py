"""`mtd bench`: how fast it is, beside others where they are installed. Both sides take turns in one run, in a process of its own.

command     which of these is meant; each runs in a fresh process
turns       sides that take turns, and how a rank answers what it is asked
record      rows that are kept in a file, of which the page of benchmarks is made
nn          whole training steps (`steps`, and those of known programs: `program_steps`), beside torch's
worlds  worker      ranks that live at the same time, and one of them: it times `collectives` and training `steps`
comm        collectives over each transport, beside gloo and Open MPI (`comm_brokers`: which broker `mqtt` means)
train       DDP and FSDP over each transport, beside torch over gloo
pytorch     PyTorch itself over our wires, beside PyTorch over gloo, and what it takes in the simulator
            (`pytorch_simulated`, whose scripts are in `pytorch_scripts`)
rpc         calls, beside torch's (`rpc_worker`, `rpc_pipeline`)
sim         how fast virtual time passes, beside SimGrid (`simgrid`)
plan        training steps of this machine, predicted and then measured (`plan_model`: how; `plan_quiet`: which turns count)
"""
