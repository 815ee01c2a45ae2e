"""Pages, traces, pictures and tables of runs. `Report.save_page` and `save_trace`, and `Journal.scene` and `svg` come here.

whole_files   files are written whole or not at all
kept_file     the findings of a command that was interrupted
html_files    pages with their style, script and data
page          a scene as one HTML file: zoom, play, step, filter, two runs side by side
trace         a scene for ui.perfetto.dev, chrome://tracing
step_page     one HTML file of a training step: timelines, memory, critical path
drawing       timelines as a page
link_table    the links of a network, counted
journal_scene a journal as a scene
saving        a report as a page, and as a trace
"""

import sys

from minitorch_dist.inventory import plugs
from minitorch_dist.pictures import svg as svg
from mtd.pages.journal_scene import scene_of as scene_of
from mtd.pages.saving import in_a_notebook as in_a_notebook, save_page as save_page, save_trace as save_trace

plugs.register("pages", sys.modules[__name__])
