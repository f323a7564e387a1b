"""What a definition counts on and this installation does not have, asked before a run finds out."""

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
# The egress guard reads no address from such a URL, so no run can call it.
BAD_URL: Final = "bad_url"
REFUSED: Final = frozenset({REFUSED_ADDRESS, BAD_URL})
# With one of these a step fails until somebody sets up what is missing.
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
    # Who writes it, where there is no automation yet; None: nobody in particular.
    author_id: UUID | None = None


class Preflight(Protocol):
    """Looks at a definition with the settings, the connections and the people in view."""

    async def findings(
        self, document: Mapping[str, Any], vocabulary: Vocabulary, whose: DefinitionOwner
    ) -> tuple[Finding, ...]:
        """What its steps would not find if they ran now, each with its place and a remedy."""
        ...


class NoPreflight:
    """Used where nothing is known about the installation."""

    async def findings(
        self, document: Mapping[str, Any], vocabulary: Vocabulary, whose: DefinitionOwner
    ) -> tuple[Finding, ...]:
        """Nothing: there is nothing to compare it with."""
        del document, vocabulary, whose
        return ()
