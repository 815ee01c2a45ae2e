"""The description that a package index shows: README.md, without links that lead nowhere there.

A link to a file of the repository becomes absolute, if `url` in setup.cfg says where the repository is. Else its words stay,
and a picture is left out. Everything else about the package stands in setup.cfg.
"""

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")


def described(text: str, repository: str) -> str:
    """The page, for readers who do not have the files beside it."""

    def led(link: re.Match[str]) -> str:
        is_picture, words, target = link.groups()
        if not repository:
            return "" if is_picture else words
        return f"{is_picture}[{words}]({repository}/{'raw' if is_picture else 'blob'}/main/{target})"

    return LINK.sub(led, text)


if __name__ == "__main__":
    settings = ConfigParser(interpolation=None)
    settings.read(HERE / "setup.cfg", encoding="utf-8")
    page = (HERE / "README.md").read_text(encoding="utf-8")
    setup(long_description=described(page, settings["metadata"].get("url", "")))
