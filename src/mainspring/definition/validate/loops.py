"""Loops: a trigger that would go off on the runs of its own automation.

Every run ends with an event, so such a trigger never comes to rest. The filter is asked
about an event of the automation itself, of which two things are known (its name, and
its id if it has one yet) and everything else is open: only a filter that is certainly
false for it keeps the trigger away from its own runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.limits import Limits
from mainspring.definition.filters.fields import MISSING, parse_field_path
from mainspring.definition.filters.grammar import ALL, ANY, NOT
from mainspring.definition.filters.operators import OPERATORS

RUN_EVENTS: Final = "automation.run."
# What can be said of an id that does not exist yet: no author can have written it.
_OF_AN_UNBORN_ID: Final[Mapping[str, bool]] = {
    "equals": False,
    "in": False,
    "not_equals": True,
    "not_in": True,
}


@dataclass(frozen=True, slots=True)
class AutomationIdentity:
    """What is known of the automation that is being judged."""

    name: str | None
    automation_id: str | None = None


def can_trigger_itself(
    event_type: str, filters: Mapping[str, Any] | None, own: AutomationIdentity, limits: Limits
) -> bool:
    """Whether a run of this automation may set off this trigger of it."""
    if not event_type.startswith(RUN_EVENTS):
        return False
    return _filter(filters or {}, own, limits) is not False


def _filter(written: Mapping[str, Any], own: AutomationIdentity, limits: Limits) -> bool | None:
    """True, False, or None where the answer depends on what is not known."""
    return _every(_answers(written, own, limits))


def _answers(
    written: Mapping[str, Any], own: AutomationIdentity, limits: Limits
) -> Iterator[bool | None]:
    for key, value in written.items():
        if key == ALL:
            yield _every(_filter(member, own, limits) for member in value)
        elif key == ANY:
            yield _some(_filter(member, own, limits) for member in value)
        elif key == NOT:
            yield _opposite(_filter(value, own, limits))
        else:
            conditions = value if isinstance(value, Mapping) else {"equals": value}
            for name, operand in conditions.items():
                yield _operator(parse_field_path(key), name, operand, own, limits)


def _operator(
    path: tuple[str, ...], name: str, operand: Any, own: AutomationIdentity, limits: Limits
) -> bool | None:
    if path == ("automation_id",) and own.automation_id is None:
        return _OF_AN_UNBORN_ID.get(name)
    known = {"automation_id": own.automation_id, "automation_name": own.name}.get(path[0])
    if known is None:
        return None
    value = known if len(path) == 1 else MISSING
    return OPERATORS[name].test(operand, limits)(value)


def _every(answers: Iterable[bool | None]) -> bool | None:
    found = list(answers)
    if False in found:
        return False
    return None if None in found else True


def _some(answers: Iterable[bool | None]) -> bool | None:
    return _opposite(_every(_opposite(answer) for answer in answers))


def _opposite(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
