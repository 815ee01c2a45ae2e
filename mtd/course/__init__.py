"""The course: lessons with blanks, and the checks that judge what is written into them.

A lesson, and a learner's folder:

    source  lesson  records     one marked file, from which come skeleton, solution and notebook; its folder; dataclasses as JSON and TOML have them
    sizes  carrying     blanks that are gaps, functions or files; a text in another size
    tracks              orders in which the lessons are read
    path  loading       which of the lessons' modules a name means: yours, or ours; a file as a module
    workspace  progress  achievements      the learner's folder; how far one is; what one did beside the lessons
    predicting          a number that is said before a run
    notebooks  pieces   a lesson as a notebook, with blanks and with our solution; a file as cells
    cells  outputs      a notebook whose cells are the lesson's module; what stands under cells
    answers  notebook_copies  lamp_page      a notebook whose cells are your file, in your folder; its check as HTML
    sample_failure      a real failure of the check, and how to read it
    bridging            the same in PyTorch, at a lesson's end
    real_bridge  real_training  real_ranks      a learner's functions under real PyTorch's DDP and FSDP2
    building  judging   for who writes lessons: what is made from them, and are they as they should be?

A check, and what it measures with:

    lamps  verdict      how it says what it asks for, and what it found
    checking            against a file; `examination` and `candidate`: in a process that can be stopped
    real_wires/         over tcp, over a folder, over mqtt: a learner's file in processes
    explain  bounds     what was raised, in words; what lamps ask for
    lab                 a run in virtual time, its meters, its picture
    post  single_faults  envelopes  messages between ranks, lost and doubled, and drawn
    all_reduces  properties  scoring      right ones and wrong ones, and how good a check of them is
    property_trial      a Hypothesis property of the learner's: it must accept what is right and reject what is wrong
    whole_numbers  training_contents      layers whose sums are exact; grids of training
    small_transformer  one_model          a model to cut; the same one, trained by what each lesson built
    layers  training  pipelines  cluster  elastic  lossy_wires  far_store      what single lessons stand on
    worlds  timelines  certificate  finale      one script in seven worlds; a transformer on a mesh

The solutions of all lessons together:

    assembling  code_lines  stack_proof   `mystack`, the solutions as one package that runs alone

Beside the lessons: `museum`, `contest`, `chapters/` (open chapters, with a contest each), `network_game` (with `levels/`), `rank_game`, `classroom/`.

A lesson's check imports `lamp` and `MeasuredCost` from here.
"""

from mtd.course.lamps import MeasuredCost as MeasuredCost, Skipped as Skipped, lamp as lamp
