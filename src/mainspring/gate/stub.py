"""What a call answers that was only pretended.

A plan that is tried out must go on as it would, so the answer has the shape of a real one:
what the capability offers for this, else the first example of its output schema. It says of
itself that it is none, the way a draft does, by its ``kind``; where a real answer has a kind
of its own, only the record says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Capability

MARK: Final[Mapping[str, str]] = {"kind": "suppressed"}


def stub_of(capability: Capability, arguments: Mapping[str, Any]) -> Any:
    """The answer of a call that was not made; an object carries the mark."""
    own, declared = capability.annotations.stub, capability.output_schema
    samples = declared.get("examples", ())
    value = own(arguments) if own is not None else next(iter(samples), {})
    if not isinstance(value, Mapping) or MARK.keys() & declared.get("properties", {}).keys():
        return value
    return {**value, **MARK}
