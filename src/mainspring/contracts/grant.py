"""A grant: permission to call one capability, with bounds on its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to call ``capability`` with arguments within ``params``.

    A scalar must be equal, a list names the members allowed, ``max_*`` is an upper bound and
    ``hosts`` is compared with the host of the argument ``url``.
    """

    capability: str
    params: Mapping[str, Any] = field(default_factory=dict)
    # Its calls may use accounts of the automation's owner. Set when a definition is validated; two
    # grants are equal with and without it.
    lent: bool = field(default=False, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        return {"capability": self.capability, "params": dict(self.params)}
