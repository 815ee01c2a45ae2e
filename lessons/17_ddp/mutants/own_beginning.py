"""Every rank begins with the numbers it has drawn.

Equal steps from different places: the replicas never meet. It goes unnoticed where all ranks set the same seed, until
somebody gives each rank its own. A language model was trained so, and a restart mended it: all ranks then loaded one of them.

Caught by: right, replicas
Passes: bytes
Seen: https://github.com/allenai/OLMo-core/pull/319
"""

# BLANK 1: only buffers
take_from_rank_0(module.buffers())
# END
