"""What an automation of a folder could do beyond another, in the sentences of consent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding
from mainspring.definition.authority import AutomationAuthority, find_additions, read_authority
from mainspring.definition.validate import validate
from mainspring.recipes.carrying.comparing import FindWidening
from mainspring.recipes.carrying.references import (
    ResourceReference,
    insert_references,
    replace_with_stand_ins,
)

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary


def build_widening_check(words: Vocabulary, limits: Limits) -> FindWidening:
    """Reads definitions with these words; of one that cannot be read it is told why."""

    def widens(
        before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> Sequence[Mapping[str, str]]:
        stood_in: dict[str, ResourceReference] = {}
        now = _read_stand_in_authority(after, words, limits, stood_in)
        was = None if before is None else _read_stand_in_authority(before, words, limits, stood_in)
        for one in (now, was):
            if isinstance(one, Finding):
                says = f"What it may do cannot be told: {insert_references(one.detail, stood_in)}"
                return [{"kind": "unknown", "pointer": one.pointer, "says": says}]
        assert isinstance(now, AutomationAuthority)
        assert not isinstance(was, Finding)
        return [
            {**one.as_dict(), "says": insert_references(one.says, stood_in)}
            for one in find_additions(was, now)
        ]

    return widens


def _read_stand_in_authority(
    content: Mapping[str, Any],
    words: Vocabulary,
    limits: Limits,
    stood_in: dict[str, ResourceReference],
) -> AutomationAuthority | Finding:
    document, used = replace_with_stand_ins(content)
    stood_in |= used
    report = validate(document, words, limits)
    if not report.ok:
        return report.findings[0]
    return read_authority(
        report.accepted().as_dict(), report.grants, limits, pure=report.traits.pure
    )
