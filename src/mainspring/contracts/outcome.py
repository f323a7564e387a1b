"""The outcomes of a call or a step. These are values, not errors.

``Done`` is the normal outcome; a handler that returns a plain value means ``Done``. ``Unchanged``
is a successful call that changed nothing. ``HeldForApproval`` is an outside write that waits for a
person. ``NeedsClarification`` asks the caller a question. ``NothingToDo`` means that there was
nothing to do. ``WaitUntil`` is for actions: the run sleeps until a time, without occupying a
worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Done:
    """The call succeeded with this value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The call succeeded with this value and changed nothing."""

    value: Any


@dataclass(frozen=True, slots=True)
class HeldForApproval:
    """An outside write became a draft: a person must approve it before it is sent."""

    draft_id: UUID
    preview: str
    # What would be sent, as a record may show it.
    payload: Mapping[str, Any]
    expires_at: datetime
    # The capability that would be called.
    action: str = ""
    # A hash of everything that a person is shown: approval only applies to this.
    hash: str = ""
    # The account that would send it, as the provider names it; None: no account.
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
    """The request was ambiguous; answering this question resolves it."""

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
    """The exact arguments of a request, and notes for the caller."""

    arguments: Mapping[str, Any]
    note: str


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """The step sleeps until a time; then it is done with this value."""

    until: datetime
    value: Any = None


Outcome = Done | Unchanged | HeldForApproval | NeedsClarification | NothingToDo
