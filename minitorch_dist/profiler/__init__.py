"""Where the time of a program goes: torch's `profile`, under its own names.

    with profile(record_shapes=True) as prof:
        with record_function("a step"):
            model(x).sum().backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))
    prof.export_chrome_trace("trace.json")          # for ui.perfetto.dev

events       spans of time, their averages, the table and the trace
calls        the calls of operations
profiling    `profile` itself
"""

from minitorch_dist.inventory import not_offered
from minitorch_dist.profiler.calls import record_function as record_function
from minitorch_dist.profiler.profiling import ProfilerActivity as ProfilerActivity, profile as profile

not_offered.guard(globals())
