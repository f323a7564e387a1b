"""What a call or a step came to. These are values, not errors.

``Done`` is the ordinary end; a handler that returns a plain value means ``Done``.
``Unchanged`` is one that found everything already as it should be, which is no effect.
``Held`` is an outside write that waits for a person. ``Unclear`` asks a question back.
``Nothing`` says that there was nothing to do. ``Wait`` is for actions: the run sleeps,
holding no worker, until a moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Done:
    """The work was done and this is its value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The work was done, this is its value, and everything is as it was before."""

    value: Any


@dataclass(frozen=True, slots=True)
class HeldForApproval:
    """An outside write became a draft: a person must agree before it leaves."""

    draft_id: UUID
    preview: str
    # What would be sent, as a record may show it.
    payload: Mapping[str, Any]
    expires_at: datetime
    # What would be done, by its name.
    action: str = ""
    # Of all that a person is shown: agreement is to this and to nothing else.
    hash: str = ""
    # Over whose account it would leave, as the other side calls it; None: over none.
    account: str | None = None

    def as_value(self) -> dict[str, Any]:
        over = {} if self.account is None else {"account": self.account}
        return {
            "kind": "draft",
            "draft_id": str(self.draft_id),
            "action": self.action,
            "preview": self.preview,
            "payload": dict(self.payload),
            "expires_at": self.expires_at.isoformat(),
            "hash": self.hash,
            **over,
        }


@dataclass(frozen=True, slots=True)
class NeedsClarification:
    """The request was ambiguous; the answer to this question makes it clear."""

    question: str

    def as_value(self) -> dict[str, Any]:
        return {"kind": "clarification", "question": self.question}


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """There was nothing to do, and why."""

    reason: str

    def as_value(self) -> dict[str, Any]:
        return {"kind": "noop", "reason": self.reason}


@dataclass(frozen=True, slots=True)
class ResolvedArguments:
    """The exact arguments that a request means, and what the caller should know about that."""

    arguments: Mapping[str, Any]
    note: str


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """The step sleeps until a moment; then it is done with this value."""

    until: datetime
    value: Any = None


Outcome = Done | Unchanged | HeldForApproval | NeedsClarification | NothingToDo
