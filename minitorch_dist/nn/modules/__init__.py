"""The layers, one family in a file, as in torch.

The parts of a module, from the ground up:

    registry         parameters, buffers and submodules, each under a name
    tree             the tree that modules form: walking it, names with dots
    hooks            calling a module, and who else is called then
    state_dict       its state as a flat dictionary, and back
    module           all of these together
    container, parameter_container      modules, and parameters, in lists and dictionaries

All other files are layers; `dimensions` has the settings that may differ by dimension.
"""
