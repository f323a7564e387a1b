"""The writes that the capabilities of this process declare, where no vocabulary is at hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mainspring.contracts.capability import Capability, Write

# What the capabilities of this process declare. Consent compares stored documents, also where no
# vocabulary is at hand; what is sent by default must never depend on who compares.
_DECLARED: Final[dict[str, Capability]] = {}


def declare_writes(capabilities: Iterable[Capability]) -> None:
    """Makes the declarations of a registry known; each registry does so when it is built."""
    _DECLARED.update((one.id, one) for one in capabilities if one.write is not None)


def find_declared_write(capability: str) -> Write | None:
    """What a capability declares about its writes; None where it declares nothing."""
    found = _DECLARED.get(capability)
    return None if found is None else found.write


def list_default_writes(*, with_safe: bool) -> frozenset[str]:
    """The writes that go at once where their step says nothing."""
    return frozenset(
        name
        for name, one in _DECLARED.items()
        if one.write is not None and (one.write.sent_by_default or (with_safe and one.write.safe))
    )


def list_account_products() -> dict[str, str]:
    """The integrations over whose accounts something is written, with their product names."""
    return {
        one.annotations.route.integration: one.write.product
        for one in _DECLARED.values()
        if one.write is not None and one.write.product and one.annotations.route is not None
    }
