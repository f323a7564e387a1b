"""The shape of a write: everything in its arguments but the wording. Pure decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.capability import Capability
from mainspring.definition.json_values import encode_canonical, hash_content

# So many confirmed drafts of one shape, one after another, earn a proposal.
ENOUGH: Final = 5


def pattern_of(capability: Capability, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a rule would hold fast; None where nothing of it can be left open or held fast.

    Wording alone may differ. A write whose every argument is wording would go to whomever the
    capability itself decides, so it is no shape that a person could recognise.
    """
    write = capability.write
    if write is None or not write.wording or write.performs is not None:
        return None
    if write.plain is not None and not write.plain(arguments):
        # Its wording does more than say something.
        return None
    fixed = {name: value for name, value in arguments.items() if name not in write.wording}
    return fixed or None


def hash_of(pattern: Mapping[str, Any]) -> bytes:
    """Equal for patterns that say the same."""
    return hash_content([dict(pattern)])


def fits(pattern: Mapping[str, Any], capability: Capability, arguments: Mapping[str, Any]) -> bool:
    """Whether a call has exactly this shape: nothing else, nothing less, nothing more."""
    shape = pattern_of(capability, arguments)
    return shape is not None and encode_canonical(shape) == encode_canonical(dict(pattern))


def derive_pattern(
    capability: Capability, latest: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The pattern that the latest answered drafts have earned, the newest first.

    Each tells its arguments, whether it was sent, and whether it was sent as it was drafted.
    """
    if len(latest) < ENOUGH or not all(one["sent"] and one["unedited"] for one in latest[:ENOUGH]):
        return None
    shapes = [pattern_of(capability, one["arguments"]) for one in latest[:ENOUGH]]
    first = shapes[0]
    if first is None or any(
        one is None or encode_canonical(one) != encode_canonical(first) for one in shapes
    ):
        return None
    return first
