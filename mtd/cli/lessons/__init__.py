"""The commands of the course: `mtd`, and what one asks about one lesson.

opening     `mtd` alone: the course where you left it, in `watch`, which checks what is saved
            (`desk`: the file one works at; `screen`: the terminal)
init  listing  track  check  text  hint  predict  solution  use  size  reset  why      a command each
commands    what they have in common: the learner's folder, and a lesson
wire        what the learner wrote over tcp, over a folder and over mqtt, beside the simulator
bridge      the same in PyTorch
notebook    the lesson in JupyterLab, with your file in its cells
assemble    `mystack`, the learner's solutions as a package that runs alone
report      a verdict as a learner reads it
picture     what a lesson draws of a learner's code
one_model   the small transformer that lessons train, by a learner's code
"""
