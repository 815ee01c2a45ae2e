"""A property of other people's all_reduce: it should find each mistake, and accept each right one.

Every rank gives a label for each element. For a tensor of one element, rank r
gives BASEʳ. Then a sum tells which ranks are in it, like the digits of a number:

    three ranks give     1    64    4096
    the sum of all       4161  = 1 + 64 + 4096         each once
    and this one         8193  = 1 + 0·64 + 2·4096     rank 1 is missing, rank 2 counted twice

The elements must differ, too, or a sum in a wrong place would not be
seen. Of n elements, rank r gives (n + e)·BASEʳ in element e: a digit
between n and 2n - 1 is one label, and says from which element it came.
"""

BASE = 64  # so up to 63 times are told apart


def labels(rank, count):
    """The numbers of rank `rank`: `count` whole numbers, (count + e) · BASEʳ in element e."""
    return [(count + element) * BASE**rank for element in range(count)]


def counts(total, size):
    """The digits of this sum of labels, one for each of `size` ranks."""
    return [total // BASE**rank % BASE for rank in range(size)]


def in_words(digits, due=1, count=1):
    """`has rank 3 twice and lacks rank 0`; `due` is the
    label that each rank gave, of one of `count` elements.
    """
    said = []
    if len({*digits}) == 1 and count <= digits[0] < 2 * count:
        return f"is the sum of element {digits[0] - count}"
    for rank, digit in enumerate(digits):
        times, rest = divmod(digit, due)
        if count <= digit < 2 * count and rest + times != 1:
            said.append(f"has rank {rank}'s element {digit - count}")
        elif digit and rest:
            said.append(f"has several elements of rank {rank}")
        elif times > 1:
            said.append(f"has rank {rank} {'twice' if times == 2 else f'{times} times'}")
    said += [f"lacks rank {rank}" for rank, digit in enumerate(digits) if digit == 0]
    return " and ".join(said)
