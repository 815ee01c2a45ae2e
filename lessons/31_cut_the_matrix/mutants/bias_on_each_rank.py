"""Each rank adds the second bias to its summand, so the sum has it P times.

It was in several small engines. One rank, and layers without a bias, show nothing. Sharing the bias out, 1/P for each, makes the sum right
and its gradient too small.

Caught by: correct, trains
Passes: pieces, enter and leave, heads, memory
Seen: https://github.com/huggingface/text-generation-inference/issues/1036
Seen: https://github.com/Wenyueh/MinivLLM/issues/80
"""

# BLANK 14: the bias before the sum
hidden = self.first(self.enter(x)).relu()
return self.leave(self.second(hidden) + self.shared(self.second.bias))
# END
