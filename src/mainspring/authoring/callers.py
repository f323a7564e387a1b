"""Who authors: a member, a client of theirs, or a run of one of their automations.

A run authors for its owner and can give no more than it has itself: not a tool, not a host, not
a secret and not a dollar that it could not have used. Otherwise a small grant to write
automations would be a grant for everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Denied, Finding, Missing
from mainspring.contracts.grant import Grant
from mainspring.contracts.roles import Permission, role_too_small
from mainspring.definition.grants import missing
from mainspring.definition.script.grants import KV
from mainspring.workspace.automations import read_grants
from mainspring.workspace.secret_use import check_not_widened

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction

_OF_RUN = """
    SELECT a.created_by, v.grants, d.document
    FROM runs r
    JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    JOIN automation_versions v ON v.workspace_id = r.workspace_id
        AND v.automation_id = r.automation_id AND v.version = r.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE r.workspace_id = $1 AND r.id = $2
"""
_CAPS: Final = ("cost_cap_daily_usd", "max_llm_tokens")


@dataclass(frozen=True, slots=True)
class Author:
    """Whose automation it becomes, and what bounds them."""

    member_id: UUID
    # Set for a run: the definition that it runs, and what it may call.
    document: Mapping[str, Any] | None = None
    grants: tuple[Grant, ...] = field(default=())

    @property
    def is_run(self) -> bool:
        return self.document is not None

    def check_within(
        self,
        document: Mapping[str, Any],
        grants: Sequence[Grant],
        before: Mapping[str, Any] | None = None,
    ) -> None:
        """Refuses a definition that may do more than the run that writes it.

        Of an automation that is changed, ``before`` is what it was and ``grants`` what is new.
        """
        if self.document is None:
            return
        mine, theirs = self.document["execution"], document["execution"]
        was = mine if before is None else before["execution"]
        findings = [
            Finding(
                "/tool_grants",
                f"The run that asks may not call {grant.capability} like this itself.",
                "grant_widened",
            )
            for grant in missing((g for g in grants if g.capability not in KV), self.grants)
        ]
        findings += [
            Finding(f"/{name}", f"The run that asks has a smaller {name} itself.", "cap_raised")
            for name in _CAPS
            if Decimal(str(theirs[name])) > max(Decimal(str(one[name])) for one in (mine, was))
        ]
        policies = {mine["write_policy"], was["write_policy"]}
        if theirs["write_policy"] != "always_draft" and "always_draft" in policies:
            detail = "Outside writes would go without a person, which the run may not decide."
            findings.append(Finding("/write_policy", detail, "policy_widened"))
        if findings:
            raise Denied(
                "A run can give an automation no more than it has itself.",
                code="wider_than_its_author",
                findings=findings,
                suggestion="Let a person save it.",
            )
        if before is None:
            check_not_widened(self.document, document, ())
        else:
            check_not_widened(before, document, grants)


async def author_of(ctx: CallContext, tx: Transaction) -> Author:
    """Whoever calls now, as an author."""
    if ctx.run is None:
        return Author(ctx.actor.id)
    row = await tx.fetchrow(_OF_RUN, ctx.actor.workspace_id, ctx.run.id)
    if row is None:
        raise Missing("The run that asks is not there any more.", code="no_run")
    return Author(row["created_by"], row["document"], read_grants(row["grants"]))


def check_may_edit(ctx: CallContext) -> None:
    """Refuses somebody who may set automations going and not change them."""
    role = ctx.actor.role
    if ctx.run is None and (role is None or not role.may(Permission.EDIT)):
        raise role_too_small(role, Permission.EDIT)
