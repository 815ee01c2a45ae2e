"""The rights of clients to publish and to subscribe, where not all clients of a broker are alike.

    private("mtd/class/s")     its owner: everything
                               others: may say  …/s/ask
                                       may hear …/s/owner and …/s/answer/<a number that only they know>

Beneath the private base only the owner speaks (but for questions), so nobody can answer in its name; and nobody can
listen there with a wildcard, so the topic on which one is answered is a secret between two. All other topics are
everybody's. (mosquitto's `acl_file` can say the same.)
"""

from __future__ import annotations


class AccessRules:
    """For one private base; for none, everybody may do everything."""

    def __init__(self, base: str = "") -> None:
        self.base = base
        self._levels = base.split("/")

    def may_say(self, topic: str, is_owner: bool) -> bool:
        return is_owner or not self._is_private(topic) or topic == f"{self.base}/ask"

    def may_hear(self, name: str, is_owner: bool) -> bool:
        """Whether the subscription `name` is allowed."""
        if is_owner or not self.base:
            return True
        if "+" in name or "#" in name:
            return not self._could_match(name.split("/"))
        return name != f"{self.base}/ask"

    def _is_private(self, topic: str) -> bool:
        return bool(self.base) and topic.startswith(f"{self.base}/")

    def _could_match(self, wanted: list[str]) -> bool:
        """Whether a subscription takes in anything beneath the base."""
        for want, level in zip(wanted, self._levels, strict=False):
            if want == "#":
                return True
            if want not in ("+", level):
                return False
        return len(wanted) > len(self._levels)
