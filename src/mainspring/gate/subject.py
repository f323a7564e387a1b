"""What a call was done to, in the words of the audit log.

Most capabilities name their thing in one of a few ways, in what they are given or in what
they answer; one that does it otherwise says so itself. What must not be shown is not shown
here either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Capability
from mainspring.gate.ask import mask_arguments, mask_result

# The first of these that is there; a thing's own name comes after whose part it is.
_NAMES: Final = (
    "board_id",
    "page_id",
    "user_id",
    "automation_id",
    "run_id",
    "event_id",
    "artifact_id",
    "draft_id",
    "slug",
    "id",
    "name",
    "key",
    "email",
    "message_id",
)
_ANY_NAME: Final = frozenset(_NAMES)
_LONGEST: Final = 200


def subject_of(capability: Capability, arguments: Mapping[str, Any], result: Any) -> str | None:
    """The thing that a call touched; None where neither side names one."""
    given, answered = mask_arguments(arguments, capability), mask_result(result, capability)
    own = capability.annotations.subject
    found = _usual(capability, given, answered) if own is None else own(given, answered)
    # What was refused may be of any shape.
    return found[:_LONGEST] if isinstance(found, str) else None


def _usual(capability: Capability, given: Mapping[str, Any], answered: Any) -> str | None:
    annotations = capability.annotations
    hidden = annotations.hidden_arguments | annotations.hidden_results
    # Most sides name nothing of the kind, which one look at all their names tells.
    places = [
        side
        for side in (given, answered)
        if isinstance(side, Mapping) and not _ANY_NAME.isdisjoint(side)
    ]
    for name in _NAMES if places else ():
        for side in places:
            value = side.get(name)
            if name not in hidden and isinstance(value, str) and value:
                return value
    return None
