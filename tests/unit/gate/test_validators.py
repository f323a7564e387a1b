"""What is compiled for tools from outside is kept for the last ones alone."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.limits import Limits
from mainspring.gate.pipeline import MOST_OUTSIDE, CapabilityValidators


async def nothing(*_: Any) -> Any:
    return None


def capability(name: str, pin: str = "") -> Capability:
    return Capability(
        id=name,
        description=name,
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        handler=nothing,
        annotations=Annotations(pin=pin),
    )


def test_tools_from_outside_give_way_to_later_ones_and_what_is_ours_stays() -> None:
    checks = CapabilityValidators(Limits())
    ours, first = capability("ours"), capability("notes.find", "0")
    stored, once = checks.of(ours), checks.of(first)
    again = checks.of(first)
    for number in range(MOST_OUTSIDE):
        checks.of(capability(f"notes.t{number}", "1"))

    assert again is once
    assert checks.of(first) is not once
    assert checks.of(ours) is stored


def test_tools_of_one_name_in_two_workspaces_are_both_kept() -> None:
    checks = CapabilityValidators(Limits())
    mine, theirs = capability("notes.find", "mine"), capability("notes.find", "theirs")
    found = [checks.of(one) for one in (mine, theirs, mine, theirs)]
    newer = capability("notes.find", "mine")

    assert (found[0] is found[2], found[1] is found[3]) == (True, True)
    assert found[0] is not found[1]
    assert checks.of(newer).capability is newer
