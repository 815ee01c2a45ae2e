"""Traces of other tools, in and out; and a trace that is run again on another simulated network.

protobuf   the few rules of protobuf's bytes
chakra     execution traces of MLCommons Chakra: a file of nodes for each rank
chrome     Chrome's and Perfetto's JSON, as torch's profiler and `save_trace` write it
noting     a run's timelines as nodes
replaying  nodes as a program
"""

from mtd.traces.chakra import read_chakra as read_chakra, write_chakra as write_chakra
from mtd.traces.chrome import read_chrome as read_chrome
from mtd.traces.noting import nodes_of as nodes_of
from mtd.traces.replaying import run_trace as run_trace
