"""Pages, traces and tables of a simulated run. `Report.save_page` and `save_trace` come here.

whole_files   files are written whole or not at all
drawing       timelines as a page
link_table    the links of a network, counted
saving        a report as a page, and as a trace
"""

from minitorch_dist.sim import plugs
from mtd.pages import saving

plugs.register("pages", saving)
