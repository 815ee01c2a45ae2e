"""Those who use the library: the command `mtd`, the course with its class, the planner, the papers, the benches.

    cli                  the commands, a module each; what they print
    course               the judge of the lessons, the class, the games and the museum
    zoo                  hangs that people met in public
    papers               tables of papers, computed anew by our own code
    planning             which layout trains a model fastest
    calibration          latency and bandwidth of a real transport, for a simulation
    device_calibration   a device's speed, for a simulation
    traces               execution traces of other tools, read and written
    laboratory           a schedule beside all others, and beside what its paper says
    estimates            what a collective takes by the formulas
    two_level_bounds     lower bounds where links between nodes are slower
    timelines            the acts of each rank with their times, and the chain that a run's time is
    pages                a simulated run as a page, a trace or a table
    grids                what each rank holds, step by step, as pictures
    free_ports           a port of this machine that nobody uses now
    refusals             wishes that cannot be carried out

The library does not import this package: a contract in `setup.cfg` says so.
"""
