"""Authors of automations: a member, one of their clients, or a run.

A run authors for its owner and can grant at most what it has itself: tools, hosts, secrets and
budget. Otherwise permission to author would amount to every permission. That also applies to edits:
replacing a script would use everything the automation was granted before.

All automations authored by the runs of one automation share its daily budget: their daily caps
together, including those of automations they author in turn, cannot exceed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import format_usd
from mainspring.contracts.errors import Finding, NotFound, PermissionDenied
from mainspring.contracts.grant import Grant
from mainspring.contracts.roles import Permission, role_too_small_error
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.script.findings import KV
from mainspring.gate.rehearsal_recording import read_active_day_cap
from mainspring.workspace.automation_resources import check_not_widened
from mainspring.workspace.automations import read_grants

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction

_OF_RUN = """
    SELECT a.id, a.created_by, v.grants, d.document
    FROM runs r
    JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    JOIN automation_versions v ON v.workspace_id = r.workspace_id
        AND v.automation_id = r.automation_id AND v.version = r.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE r.workspace_id = $1 AND r.id = $2
"""
# Automations archived today may already have spent their cap.
_AUTHORED = """
    SELECT coalesce(sum((d.document #>> '{execution,cost_cap_daily_usd}')::numeric), 0) AS usd
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND d.document #>> '{metadata,authored_by_automation}' = $2
        AND a.id <> $3 AND (a.state <> 'archived' OR a.updated_at > now() - interval '1 day')
"""
AUTHORED_BY: Final = "authored_by_automation"
_DAILY: Final = "cost_cap_daily_usd"
_CAPS: Final = (_DAILY, "max_llm_tokens")
_NONE: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class AutomationAuthor:
    """The owner of an authored automation, and the author's limits."""

    member_id: UUID
    # Set for a run: its automation, the definition it runs, and its grants.
    automation_id: UUID | None = None
    document: Mapping[str, Any] | None = None
    grants: tuple[Grant, ...] = field(default=())

    @property
    def is_run(self) -> bool:
        return self.document is not None

    @property
    def budget_automation_id(self) -> str | None:
        """For a run, the automation whose daily budget limits all it authors; else None."""
        if self.document is None:
            return None
        above = (self.document.get("metadata") or {}).get(AUTHORED_BY)
        return above if isinstance(above, str) else str(self.automation_id)

    def check_within(self, document: Mapping[str, Any], grants: Sequence[Grant]) -> None:
        """Reject a definition whose grants exceed those of the run."""
        if self.document is None:
            return
        mine, theirs = self.document["execution"], document["execution"]
        findings = [
            Finding(
                "/tool_grants",
                f"The run that asks may not call {grant.capability} like this itself.",
                "grant_widened",
            )
            for grant in find_missing_grants(
                (g for g in grants if g.capability not in KV), self.grants
            )
        ]
        findings += [
            _build_raised_finding(name) for name in _CAPS if _cap(theirs, name) > _cap(mine, name)
        ]
        if theirs["write_policy"] != "always_draft" and mine["write_policy"] == "always_draft":
            detail = "Outside writes would go without a person, which the run may not decide."
            findings.append(Finding("/write_policy", detail, "policy_widened"))
        if findings:
            raise _wider(findings)
        check_not_widened(self.document, document, ())

    async def check_daily_cap(
        self,
        tx: Transaction,
        space: UUID,
        document: Mapping[str, Any],
        before: Mapping[str, Any] | None = None,
        automation_id: UUID = _NONE,
    ) -> None:
        """Reject a daily cap that does not fit in the budget with what runs authored before.

        For an edit, ``before`` is the previous definition. An automation made by a person is
        outside this budget, so its cap cannot rise.
        """
        budget = self.budget_automation_id
        cap = _cap(document["execution"], _DAILY)
        if budget is None or (before is not None and cap <= _cap(before["execution"], _DAILY)):
            return
        if before is not None and (before.get("metadata") or {}).get(AUTHORED_BY) != budget:
            raise _wider([_build_raised_finding(_DAILY)])
        most = await read_active_day_cap(tx, space, UUID(budget))
        [row] = await tx.fetch(_AUTHORED, space, budget, automation_id)
        if cap + row["usd"] > most:
            detail = (
                f"The automations that its runs created may already spend {format_usd(row['usd'])} "
                f"a day. With another {format_usd(cap)} that exceeds its own daily limit of "
                f"{format_usd(most)}."
            )
            raise _wider([Finding(f"/{_DAILY}", detail, "cap_used_up")])


def _cap(execution: Mapping[str, Any], name: str) -> Decimal:
    return Decimal(str(execution[name]))


def _build_raised_finding(name: str) -> Finding:
    return Finding(f"/{name}", f"The run that asks has no such {name} to give.", "cap_raised")


def _wider(findings: Sequence[Finding]) -> PermissionDenied:
    return PermissionDenied(
        "A run can give an automation no more than it has itself.",
        code="wider_than_its_author",
        findings=findings,
        suggestion="Let a person save it.",
    )


async def author_of(ctx: CallContext, tx: Transaction) -> AutomationAuthor:
    """The caller as an author."""
    if ctx.run is None:
        return AutomationAuthor(ctx.actor.id)
    row = await tx.fetchrow(_OF_RUN, ctx.actor.workspace_id, ctx.run.id)
    if row is None:
        raise NotFound("The run that asks is not there any more.", code="no_run")
    return AutomationAuthor(
        row["created_by"], row["id"], row["document"], read_grants(row["grants"])
    )


def check_may_edit(ctx: CallContext) -> None:
    """Reject callers who may start automations but not edit them."""
    role = ctx.actor.role
    if ctx.run is None and (role is None or not role.may(Permission.EDIT)):
        raise role_too_small_error(role, Permission.EDIT)
