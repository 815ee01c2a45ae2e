"""Parts that the makers of tensors share (see `tensors.makers`), and methods that make a tensor or fill one.

literals             from what people write down to an array
new_arrays  chance   what makers share: array, type and place; where random numbers come from
siblings  legacy     like another tensor; the old constructors
draws                coins and dice
random_fill          random numbers into a tensor that exists
exchange             memory that numpy and others share
"""
