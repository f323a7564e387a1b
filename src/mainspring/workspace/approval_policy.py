"""A workspace's approval policy: who may approve, how many must agree, and the expiry.

By default anyone whose role allows it approves alone, including their own requests. A policy that
nobody could fulfil is rejected, because nothing could ever be approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid, PersonRequired
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission, Role
from mainspring.contracts.toolset import Toolset

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

MOST_APPROVERS: Final = 5
SHORTEST, LONGEST = 60, 2_592_000
_TIMES: Final = ("draft_seconds", "held_seconds")
DECIDERS: Final = tuple(role for role in Role if role.may(Permission.DECIDE))

_READ = """
    SELECT approval_policy, draft_seconds, held_seconds FROM workspaces WHERE workspace_id = $1
"""
_HOLD = f"{_READ} FOR UPDATE"
_WRITE = """
    UPDATE workspaces SET approval_policy = $2, draft_seconds = $3, held_seconds = $4
    WHERE workspace_id = $1
"""
_PEOPLE = """
    SELECT m.role FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 AND u.disabled_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """How many people must agree, and in which roles."""

    approvers: int = 1
    # Empty: every role that may decide.
    roles: tuple[Role, ...] = ()
    # Whether the author of an automation may approve its requests.
    author_may_approve: bool = True

    @property
    def needs_others(self) -> bool:
        """Whether the requester can never approve alone."""
        return self.approvers > 1 or not self.author_may_approve

    def accepts(self, role: Role | None) -> bool:
        """Whether a member with this role can approve."""
        return role in (self.roles or DECIDERS)

    def as_dict(self) -> dict[str, Any]:
        return {
            "approvers": self.approvers,
            "roles": [role.value for role in self.roles],
            "author_may_approve": self.author_may_approve,
        }


def parse_approval_policy(result: Mapping[str, Any]) -> ApprovalPolicy:
    """Parse a workspace's stored policy; missing fields take their defaults."""
    return ApprovalPolicy(
        int(result.get("approvers", 1)),
        tuple(Role(name) for name in result.get("roles", ())),
        bool(result.get("author_may_approve", True)),
    )


async def load_approval_policy(tx: Transaction, workspace_id: UUID) -> ApprovalPolicy:
    """Load a workspace's approval policy."""
    row = await tx.fetchrow(_READ, workspace_id)
    return parse_approval_policy({} if row is None else row["approval_policy"])


def explain_lockout(policy: ApprovalPolicy, roles: Iterable[str]) -> str | None:
    """Explain why nobody could approve under a policy; None when enough people could.

    Where authors may not approve, any one of the approvers may be the author.
    """
    able = sum(policy.accepts(Role(role)) for role in roles)
    left = able if policy.author_may_approve else able - 1
    if left >= policy.approvers:
        return None
    whom = "1 member" if able == 1 else f"{able} members"
    besides = "" if policy.author_may_approve else ", and one of them may be the author"
    return (
        f"It asks for {policy.approvers} to agree, but only {whom} here could{besides}: "
        "nothing would ever be sent."
    )


async def _get(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del arguments
    row = await ctx.tx.fetchrow(_READ, ctx.actor.workspace_id)
    return _format_policy(row)


async def _set(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    space = ctx.actor.workspace_id
    row = await ctx.tx.fetchrow(_HOLD, space)
    before = _format_policy(row)
    wanted = {**before, **arguments}
    policy = parse_approval_policy(wanted)
    people = await ctx.tx.fetch(_PEOPLE, space)
    reason = explain_lockout(policy, [one["role"] for one in people])
    if reason is not None:
        raise Invalid(
            reason,
            code="policy_locks_out",
            findings=[Finding("/approvers", reason, "policy_locks_out")],
            suggestion="Require fewer people or more roles, or invite members first.",
        )
    times = {name: wanted[name] for name in _TIMES}
    after = {**policy.as_dict(), **times}
    if after == before:
        return Unchanged(after)
    if not ctx.actor.is_person:
        raise PersonRequired(
            "A person decides who approves in a workspace; a program cannot.",
            url="/inbox",
        )
    await ctx.tx.execute(_WRITE, space, policy.as_dict(), *times.values())
    return after


def _format_policy(row: Any) -> dict[str, Any]:
    kept = {} if row is None else row["approval_policy"]
    times = {name: None if row is None else row[name] for name in _TIMES}
    return {**parse_approval_policy(kept).as_dict(), **times}


_FIELDS: Final[dict[str, Any]] = {
    "approvers": {
        "type": "integer",
        "description": "How many people must approve the same text.",
        "minimum": 1,
        "maximum": MOST_APPROVERS,
    },
    "roles": {
        "type": "array",
        "description": "Whose approval counts; empty: everyone who can decide in the inbox.",
        "items": {"enum": [role.value for role in DECIDERS]},
        "uniqueItems": True,
        "maxItems": len(DECIDERS),
    },
    "author_may_approve": {
        "type": "boolean",
        "description": "Whether the automation's author or the requester can approve.",
    },
    "draft_seconds": {
        "type": ["integer", "null"],
        "description": "How long a draft of a person or client waits; null: the installation's "
        "default.",
        "minimum": SHORTEST,
        "maximum": LONGEST,
    },
    "held_seconds": {
        "type": ["integer", "null"],
        "description": "How long a write of a run waits, unless its step sets it; null: the "
        "installation's default, 72 hours unless changed.",
        "minimum": SHORTEST,
        "maximum": LONGEST,
    },
}
_USUAL: Final = {**ApprovalPolicy().as_dict(), "draft_seconds": None, "held_seconds": None}
_STRICT: Final = {
    "approvers": 2,
    "roles": ["admin", "owner"],
    "author_may_approve": False,
    "draft_seconds": 28_800,
    "held_seconds": 259_200,
}
_OUTPUT: Final = build_object_schema(
    _FIELDS, tuple(_FIELDS), [_USUAL, _STRICT], [({"approvers": 1}, "the whole policy is returned")]
)

GET_APPROVAL_POLICY: Final = Capability(
    id="get_approval_policy",
    description="Get the approval policy for drafts\n\n"
    "Returns how many approvals are needed, from which roles, whether authors may "
    "approve, and how long drafts wait.",
    input_schema=build_object_schema({}, (), [{}], [({"workspace": "x"}, "it is about this one")]),
    output_schema=_OUTPUT,
    handler=_get,
    annotations=Annotations(
        toolset=Toolset.APPROVALS,
        effect=Effect.READ,
        transactional=True,
        seconds=0.05,
        audience=Audience.PEOPLE,
    ),
)
SET_APPROVAL_POLICY: Final = Capability(
    id="set_approval_policy",
    description="Set the approval policy for drafts\n\n"
    "Only owners. Omitted fields stay. A policy that no member could satisfy is "
    "refused. Applies to waiting drafts too.",
    input_schema=build_object_schema(
        _FIELDS,
        (),
        [{"approvers": 1}, _STRICT],
        [
            ({"approvers": 0}, "someone must agree"),
            ({"approvers": MOST_APPROVERS + 1}, "more than the maximum"),
            ({"roles": ["viewer"]}, "a viewer may not answer the inbox"),
            ({"draft_seconds": 5}, "no one reads it in five seconds"),
            ({"held_seconds": 31_536_000}, "more than 30 days"),
            ({"author": False}, "it is called author_may_approve"),
        ],
    ),
    output_schema=_OUTPUT,
    handler=_set,
    annotations=Annotations(
        toolset=Toolset.APPROVALS,
        effect=Effect.KEEP,
        transactional=True,
        seconds=0.05,
        audience=Audience.PEOPLE,
        permission=Permission.OWN,
        subject=lambda given, answered: "approval_policy",
    ),
)
