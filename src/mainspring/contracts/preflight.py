"""Preflight: what a definition needs and this installation lacks, found before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.contracts.errors import Finding
    from mainspring.contracts.registry import Vocabulary

# Only an operator can fix a finding with this code; until then the step fails in every run.
REFUSED_ADDRESS: Final = "address_not_public"
# The egress guard cannot parse such a URL, so no run can call it.
BAD_URL: Final = "bad_url"
REFUSED: Final = frozenset({REFUSED_ADDRESS, BAD_URL})
# A step with one of these findings fails until the missing part is set up.
WOULD_FAIL: Final = frozenset(
    {
        "mail_not_set_up",
        "owner_mail_missing",
        "not_connected",
        "reconnect",
        "scope_missing",
        "secret_missing",
        *REFUSED,
    }
)


@dataclass(frozen=True, slots=True)
class DefinitionOwner:
    """Whose definition it is: that of an automation's owner, or of the author of a new one."""

    workspace_id: UUID
    automation_id: UUID | None = None
    # The author, when there is no automation yet; None when unknown.
    author_id: UUID | None = None


class Preflight(Protocol):
    """Checks a definition against the settings, connections and members."""

    async def findings(
        self, document: Mapping[str, Any], vocabulary: Vocabulary, whose: DefinitionOwner
    ) -> tuple[Finding, ...]:
        """What its steps would lack if they ran now, each with its pointer and a remedy."""
        ...


class NoPreflight:
    """Used where nothing is known about the installation."""

    async def findings(
        self, document: Mapping[str, Any], vocabulary: Vocabulary, whose: DefinitionOwner
    ) -> tuple[Finding, ...]:
        """Empty: there is nothing to compare with."""
        del document, vocabulary, whose
        return ()
