"""The levels of the network game (see `network_game`): small programs, most of which a network can break.

A level is a file. You can write another one: `mtd game network mine.py`.

    '''Title.

    What it does, and what should hold.
    '''
    RANKS = 3
    MAY = {"drop": 1, "duplicate": 0, "wait": 2}      how often the player may; 0 where nothing is said

    def run(post, seen): …            what each rank does with its `sender.Sender`; `seen` is a list for facts
    def always(seen): …               raises AssertionError where they must not be; asked after each move
    def at_the_end(results): …        the same, of what the ranks returned

Either of the last two may be missing. It also counts as broken if a rank raises, and if nobody can go on.
"""

NAMES = ("first_come", "lost_update", "heard_twice", "asked_again", "overtaken", "lease", "at_most_once")
