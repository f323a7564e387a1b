"""The writes that the capabilities of this process declare, without a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mainspring.contracts.capability import Capability, Write

# Consent compares stored documents, also where no vocabulary is available; the writes that are sent
# by default must not depend on where they are compared.
_DECLARED: Final[dict[str, Capability]] = {}


def declare_writes(capabilities: Iterable[Capability]) -> None:
    """Register the declarations of a registry; called when a registry is built."""
    _DECLARED.update((one.id, one) for one in capabilities if one.write is not None)


def find_declared_write(capability: str) -> Write | None:
    """The declared write of a capability; None when it declares none."""
    found = _DECLARED.get(capability)
    return None if found is None else found.write


def list_default_writes(*, with_safe: bool) -> frozenset[str]:
    """The writes that are sent at once when their step does not say otherwise."""
    return frozenset(
        name
        for name, one in _DECLARED.items()
        if one.write is not None and (one.write.sent_by_default or (with_safe and one.write.safe))
    )


def list_account_products() -> dict[str, str]:
    """The integrations whose accounts are used for writes, with their product names."""
    return {
        one.annotations.route.integration: one.write.product
        for one in _DECLARED.values()
        if one.write is not None and one.write.product and one.annotations.route is not None
    }
