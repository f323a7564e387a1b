"""Standing rules as rows: proposed, accepted, used, and taken away."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Conflict, NotFound, PermissionDenied, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.definition.authority_writes import list_outgoing_by
from mainspring.definition.escaping import escape_json
from mainspring.definition.strict_json import encode_canonical, hash_content
from mainspring.store.audit import append_audit, build_audit_record
from mainspring.workspace.approval_policy import ApprovalPolicy, load_approval_policy
from mainspring.workspace.inbox import post_message

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.gate.capability_call import CapabilityCall


# The shape of a write: everything in its arguments but the wording. Pure decisions.

# So many confirmed drafts of one shape, one after another, earn a proposal.
ENOUGH: Final = 5


def pattern_of(capability: Capability, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a rule would hold fast; None where nothing of it can be left open or held fast.

    Wording alone may differ. A write whose every argument is wording would go to whomever the
    capability itself decides, so it is no shape that a person could recognise.
    """
    write = capability.write
    if write is None or not write.wording or write.performs is not None:
        return None
    if write.plain is not None and not write.plain(arguments):
        # Its wording does more than say something.
        return None
    fixed = {name: value for name, value in arguments.items() if name not in write.wording}
    return fixed or None


def hash_of(pattern: Mapping[str, Any]) -> bytes:
    """Equal for patterns that say the same."""
    return hash_content([dict(pattern)])


def fits(pattern: Mapping[str, Any], capability: Capability, arguments: Mapping[str, Any]) -> bool:
    """Whether a call has exactly this shape: nothing else, nothing less, nothing more."""
    shape = pattern_of(capability, arguments)
    return shape is not None and encode_canonical(shape) == encode_canonical(dict(pattern))


def derive_pattern(
    capability: Capability, latest: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The pattern that the latest answered drafts have earned, the newest first.

    Each tells its arguments, whether it was sent, and whether it was sent as it was drafted.
    """
    if len(latest) < ENOUGH or not all(one["sent"] and one["unedited"] for one in latest[:ENOUGH]):
        return None
    shapes = [pattern_of(capability, one["arguments"]) for one in latest[:ENOUGH]]
    first = shapes[0]
    if first is None or any(
        one is None or encode_canonical(one) != encode_canonical(first) for one in shapes
    ):
        return None
    return first


# What a run confirmed for itself, or a rule let go, has convinced no person. One that repeats an
# edited one was changed like that.
_LATEST = """
    SELECT d.arguments, d.answered_at, d.status = 'confirmed' AND d.outcome = 'sent' AS sent,
        d.answered_kind IN ('member', 'client') AND NOT EXISTS (
            WITH RECURSIVE chain AS (
                SELECT d.revision, d.redraft_of
                UNION ALL
                SELECT o.revision, o.redraft_of FROM drafts o JOIN chain c ON o.id = c.redraft_of
                WHERE o.workspace_id = $1
            )
            SELECT FROM chain WHERE revision > 1
        ) AS unedited
    FROM drafts d
    WHERE d.workspace_id = $1 AND d.automation_id = $2 AND d.version = $3 AND d.capability = $4
      AND d.status IN ('confirmed', 'failed', 'discarded') AND d.rule_id IS NULL
      AND d.answered_kind IS DISTINCT FROM 'step'
    ORDER BY d.answered_at DESC, d.id DESC LIMIT $5
"""
# When a rule of this shape was last declined or taken away.
_OVER = """
    SELECT max(coalesce(ended_at, decided_at)) AS at FROM standing_rules
    WHERE workspace_id = $1 AND automation_id = $2 AND version = $3 AND capability = $4
      AND pattern_hash = $5 AND status IN ('declined', 'withdrawn')
"""
_PROPOSE = """
    INSERT INTO standing_rules
        (workspace_id, id, automation_id, version, capability, pattern, pattern_hash, status, seen)
    SELECT $1, $2, $3, $4, $5, $6, $7, 'proposed', $8
    WHERE NOT EXISTS (
        SELECT FROM standing_rules WHERE workspace_id = $1 AND automation_id = $3
          AND version = $4 AND capability = $5 AND pattern_hash = $7
          AND status IN ('proposed', 'active')
    )
    ON CONFLICT DO NOTHING RETURNING id
"""
# Who accepted it is judged as they are now; who has left has no role.
_ACTIVE = """
    SELECT s.id, s.pattern, s.decided_by, m.role, a.created_by, v.author, n.author AS author_now,
        s.version <> r.version AS other_version, d.document AS then, e.document AS now
    FROM standing_rules s
    JOIN runs r ON r.workspace_id = s.workspace_id AND r.id = $4
    JOIN automations a ON a.workspace_id = s.workspace_id AND a.id = s.automation_id
    JOIN automation_versions v ON v.workspace_id = s.workspace_id
        AND v.automation_id = s.automation_id AND v.version = s.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    JOIN automation_versions n ON n.workspace_id = s.workspace_id
        AND n.automation_id = s.automation_id AND n.version = r.version
    JOIN definitions e ON e.workspace_id = n.workspace_id AND e.hash = n.definition_hash
    LEFT JOIN users u ON u.id = s.decided_by AND u.disabled_at IS NULL
    LEFT JOIN members m ON m.workspace_id = s.workspace_id AND m.user_id = u.id
    WHERE s.workspace_id = $1 AND s.automation_id = $2 AND s.capability = $3
      AND s.status = 'active'
"""
# Somebody may take it away at this moment: then it is not used.
_USED = """
    UPDATE standing_rules SET uses = uses + 1
    WHERE workspace_id = $1 AND id = $2 AND status = 'active' RETURNING id
"""
_WITHDRAW = """
    UPDATE standing_rules SET status = 'withdrawn', ended_at = now(), ended_reason = $4
    WHERE workspace_id = $1 AND automation_id = $2 AND capability = $3
      AND status IN ('proposed', 'active')
    RETURNING id, status
"""
_COLUMNS = """s.id, s.automation_id, a.name AS automation, s.version, s.capability, s.pattern,
        s.status, s.seen, s.uses, s.proposed_at, s.decided_by, s.decided_at, s.ended_at,
        s.ended_reason"""
_AUTHORS = """
    SELECT a.created_by, v.author FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
    WHERE a.workspace_id = $1 AND a.id = $2 AND v.version = $3
"""
_LIST = f"""
    SELECT {_COLUMNS} FROM standing_rules s
    JOIN automations a ON a.workspace_id = s.workspace_id AND a.id = s.automation_id
    WHERE s.workspace_id = $1 AND ($2::text IS NULL OR s.status = $2)
      AND ($3::uuid IS NULL OR s.automation_id = $3)
    ORDER BY s.id DESC LIMIT $4
"""
_HOLD = f"""
    SELECT {_COLUMNS} FROM standing_rules s
    JOIN automations a ON a.workspace_id = s.workspace_id AND a.id = s.automation_id
    WHERE s.workspace_id = $1 AND s.id = $2 FOR UPDATE OF s
"""
_DECIDE = """
    UPDATE standing_rules SET status = $3, decided_by = $4, decided_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_END = """
    UPDATE standing_rules SET status = 'withdrawn', ended_at = now(), ended_reason = $3
    WHERE workspace_id = $1 AND id = $2
"""


async def learn(tx: Transaction, row: Mapping[str, Any], capability: Capability) -> UUID | None:
    """A draft was confirmed and sent; answers the rule that is proposed for it, if one is.

    ``row`` is the draft's: workspace, automation, version and capability are read from it.
    """
    if row["automation_id"] is None:
        return None
    key = (row["workspace_id"], row["automation_id"], row["version"], capability.id)
    latest = await tx.fetch(_LATEST, *key, ENOUGH)
    pattern = derive_pattern(capability, latest)
    if pattern is None:
        return None
    over = (await tx.fetchrow(_OVER, *key, hash_of(pattern)))["at"]
    if over is not None and any(one["answered_at"] <= over for one in latest):
        # Somebody has said no to it: it is earned anew from there.
        return None
    made = await tx.fetchrow(
        _PROPOSE, key[0], generate_id(), key[1], key[2], key[3], pattern, hash_of(pattern), ENOUGH
    )
    if made is None:
        return None
    await post_message(
        tx,
        key[0],
        title=f"Confirmed {ENOUGH} times unchanged: send it automatically?",
        message=(
            f"{ENOUGH} drafts of {capability.id} were confirmed in a row without changes; each "
            f"had exactly {escape_json(pattern)}. You can have such drafts sent without "
            f"approval: `mainspring rules accept {made['id']}`, or in the inbox. Until then each "
            "draft still waits for approval."
        ),
        automation_id=key[1],
    )
    rule_id: UUID = made["id"]
    return rule_id


async def unlearn(tx: Transaction, row: Mapping[str, Any], reason: str) -> int:
    """A draft was changed or rejected: what was earned for its like is gone; how many rules."""
    if row["automation_id"] is None:
        return 0
    key = (row["workspace_id"], row["automation_id"], row["capability"])
    return len(await tx.fetch(_WITHDRAW, *key, reason))


async def find_standing_rule(
    tx: Transaction, ask: CapabilityCall, capability: Capability, arguments: Mapping[str, Any]
) -> UUID | None:
    """The accepted rule under which a run's write may go, if there is one; its use is told.

    It stands no higher than whoever accepted it: it ends when they leave, and rests while they
    could not approve such a draft alone.
    """
    run, space = ask.run, ask.actor.workspace_id
    if run is None or capability.write is None or not capability.write.wording:
        return None
    found = await tx.fetch(_ACTIVE, space, run.automation_id, capability.id, run.id)
    policy = await load_approval_policy(tx, space) if found else ApprovalPolicy()
    for rule in found:
        if not fits(rule["pattern"], capability, arguments) or not _covers(rule, capability.id):
            continue
        if rule["role"] is None:
            await tx.execute(_END, space, rule["id"], "accepter_left")
        elif refusal(policy, rule["decided_by"], Role(rule["role"]), _authors(rule)) is None:
            if await tx.fetchrow(_USED, space, rule["id"]) is None:
                continue
            told = {"capability": capability.id, "call": ask.key}
            await append_audit(
                tx, [build_audit_record(ask.actor, "standing_rule.used", rule["id"], told)]
            )
            rule_id: UUID = rule["id"]
            return rule_id
    return None


async def list_rules(
    tx: Transaction,
    workspace_id: UUID,
    *,
    status: str | None,
    automation_id: UUID | None,
    most: int,
) -> list[dict[str, Any]]:
    """Newest first."""
    rows = await tx.fetch(_LIST, workspace_id, status, automation_id, most)
    return [dict(row) for row in rows]


async def decide_rule(
    tx: Transaction, actor: Actor, rule_id: UUID, *, accept: bool
) -> dict[str, Any]:
    """A person accepts or declines a rule that was proposed."""
    row = await _lock_rule(tx, actor.workspace_id, rule_id)
    if row["status"] != "proposed":
        raise Conflict(f"This rule is already {row['status']}.", code="rule_decided")
    if accept:
        made = await tx.fetchrow(_AUTHORS, actor.workspace_id, row["automation_id"], row["version"])
        policy = await load_approval_policy(tx, actor.workspace_id)
        problem = refusal(policy, actor.id, actor.role, _authors(made))
        if problem is not None:
            raise problem
    status = "active" if accept else "declined"
    await tx.execute(_DECIDE, actor.workspace_id, rule_id, status, actor.id)
    return {**row, "status": status, "decided_by": actor.id}


async def end_rule(tx: Transaction, actor: Actor, rule_id: UUID) -> tuple[dict[str, Any], bool]:
    """Takes a rule away; whether this was news."""
    row = await _lock_rule(tx, actor.workspace_id, rule_id)
    if row["status"] in ("withdrawn", "declined"):
        return row, False
    await tx.execute(_END, actor.workspace_id, rule_id, "withdrawn")
    return {**row, "status": "withdrawn", "ended_reason": "withdrawn"}, True


def refusal(
    policy: ApprovalPolicy, member_id: UUID | None, role: Role | None, authors: Collection[UUID]
) -> Problem | None:
    """Why somebody cannot agree once for all; whoever can not to one draft cannot to many."""
    if policy.approvers > 1:
        return Conflict(
            f"In this workspace {policy.approvers} people approve each draft, so no rule can "
            "send drafts automatically.",
            code="rule_needs_one_approver",
            suggestion="Each draft still waits in the inbox.",
        )
    if not policy.accepts(role):
        return PermissionDenied(
            "Only roles that may approve drafts can accept a rule: "
            f"{', '.join(one.value for one in policy.roles)}.",
            code="not_an_approver",
            suggestion="Leave it for one of them.",
        )
    if not policy.author_may_approve and member_id in authors:
        return PermissionDenied(
            "In this workspace, members cannot approve their own requests, so they cannot accept "
            "a rule for them either.",
            code="author_may_not_approve",
            suggestion="Leave it for another member.",
        )
    return None


def _covers(rule: Mapping[str, Any], capability: str) -> bool:
    """Whether the run's version sends nothing with this capability that the rule's did not."""
    if not rule["other_version"]:
        return True
    return list_outgoing_by(rule["now"], capability) <= list_outgoing_by(rule["then"], capability)


def _authors(row: Mapping[str, Any]) -> set[UUID]:
    """Whoever made the automation, and whoever wrote this version of it."""
    return {row["created_by"], row["author"], row.get("author_now")} - {None}


async def _lock_rule(tx: Transaction, workspace_id: UUID, rule_id: UUID) -> dict[str, Any]:
    row = await tx.fetchrow(_HOLD, workspace_id, rule_id)
    if row is None:
        raise NotFound("There is no such rule.", code="no_rule")
    return dict(row)
