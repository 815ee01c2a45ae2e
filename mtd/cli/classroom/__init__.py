"""`mtd class`: a room full of laptops trains one model (`course.classroom` has its rules).

command     what can be said on the command line
hosting     `mtd class host`: the broker, the console, the pages, until the class is over
joining     `mtd class join`: one laptop
screen      the console in a terminal, whole or line by line
"""
