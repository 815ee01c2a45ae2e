"""Each edge sends its own part all the way down at once: right, but it costs as much as there are paths.

Caught by: cheap, order
Passes: correct
Seen: https://github.com/karpathy/micrograd/issues/91
"""

# BLANK 1: only the root
order.append(root)
# END

# BLANK 2: and from each following node on anew
send_back(following, part)
# END
