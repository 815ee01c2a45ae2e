"""There is one context for all passes, as a process has one `.grad`.

Two trainers at once share the server's parameters: their counts and their gradients get mixed.

Caught by: contexts
Passes: correct, any order, library
"""

# BLANK 4: there is one at a time anyway
if not self.contexts:
    self.contexts[0] = Context(0, self.post)
context = self.contexts[0]
context.id = id
return context
# END
