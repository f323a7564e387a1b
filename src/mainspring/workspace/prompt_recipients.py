"""Who is asked outside of the inbox: the people who may answer.

The owner of the automation is asked: the member who made it, or who took it over since. Where the
owner cannot answer (they left, their account is disabled, or their role does not allow it), the
owners and admins of the workspace are asked instead. A question for certain roles that the owner
does not have goes to everybody who has one of them. A draft of a member's own call is theirs
alone.
"""

from __future__ import annotations

from typing import Final

from mainspring.contracts.roles import Permission, Role

_MEMBER: Final = """FROM members {m}
        JOIN users {u} ON {u}.id = {m}.user_id AND {u}.disabled_at IS NULL
        WHERE {m}.workspace_id = {space} AND {m}.role IN ({least})
            AND ({roles} IS NULL OR {m}.role = ANY({roles}))"""


def build_recipients_join(
    space: str,
    owner: str,
    *,
    permission: Permission = Permission.DECIDE,
    roles: str = "NULL::text[]",
    own_call: str = "false",
    unreachable: str = "false",
) -> str:
    """A lateral join ``r(user_id)`` with the people who are asked about one row of a query.

    ``space`` and ``owner`` are the columns of its workspace and its owner. ``permission`` is what
    an answer takes, and ``roles`` the column of the roles that a question is for. ``own_call`` says
    when nobody but the owner may answer, and ``unreachable`` when the owner was not reached.
    """
    least = ", ".join(f"'{role.value}'" for role in Role if role.may(permission))
    member = _MEMBER.format(m="m", u="mu", space=space, least=least, roles=roles)
    present = _MEMBER.format(m="o", u="ou", space=space, least=least, roles=roles)
    return f"""CROSS JOIN LATERAL (
        SELECT m.user_id {member} AND (m.user_id = {owner} OR (
            ({roles} IS NOT NULL OR m.role IN ('owner', 'admin')) AND NOT ({own_call})
            AND ({unreachable} OR NOT EXISTS (SELECT {present} AND o.user_id = {owner}))))
    ) AS r(user_id)"""
