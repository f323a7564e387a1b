"""Proposal views, shared by all interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainspring.authoring.proposals.proposal_body import ProposalBody
from mainspring.definition.strict_json import hash_content

if TYPE_CHECKING:
    from mainspring.authoring.service import AuthoringService
    from mainspring.workspace.proposals import StoredProposal


def digest_of(body: ProposalBody) -> str:
    """A digest of the definition and its grants, which a save must repeat."""
    return hash_content({"definition": body.document, "grants": list(body.grants)}).hex()


def describe_proposal(
    studio: AuthoringService, kept: StoredProposal, *, can_rehearse: bool = False
) -> dict[str, Any]:
    """Describe a proposal in full."""
    body = ProposalBody.read(kept.body)
    return {
        **_head(studio, kept, body),
        "definition": body.document,
        "questions": [one.as_dict() for one in body.questions],
        "problems": [one.as_dict() for one in body.problems],
        "notes": list(body.notes),
        "made_by": body.making.as_dict(),
        "talk": [one.as_dict() for one in body.talk],
        "review": dict(body.review),
        "rehearsal": _rehearsal(kept) if can_rehearse else None,
    }


def _rehearsal(kept: StoredProposal) -> dict[str, Any]:
    """The rehearsal call over past samples."""
    arguments = {
        "automation_id": str(kept.automation_id),
        "candidate": {"proposal_id": str(kept.id)},
    }
    return {"tool": "rehearse_automation", "arguments": arguments}


def summarize_proposal(studio: AuthoringService, kept: StoredProposal) -> dict[str, Any]:
    """Summarize a proposal for lists."""
    body = ProposalBody.read(kept.body)
    name = body.document.get("name")
    return {**_head(studio, kept, body), "name": name if isinstance(name, str) else None}


def _head(studio: AuthoringService, kept: StoredProposal, body: ProposalBody) -> dict[str, Any]:
    saved = kept.saved_as
    return {
        "proposal_id": str(kept.id),
        "status": body.status if saved is None else "saved",
        "revision": kept.revision,
        "digest": digest_of(body),
        "request": body.request,
        "automation_id": None if kept.automation_id is None else str(kept.automation_id),
        "base_version": kept.base_version,
        "created_at": kept.created_at.isoformat(),
        "expires_at": kept.expires_at.isoformat(),
        "url": studio.proposal_url(kept.id),
        "saved_as": None if saved is None else str(saved),
    }
