"""A recipe with its real values is judged once more, before anything is made of it.

When it was published its settings had examples. The value of a real one may end a host name or
begin another address; what a person was told then would not be what is made. So the grants and
hosts of the filled template are held against those of the envelope, filled in the same way.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.pointers import join_pointer
from mainspring.recipes.package import (
    RecipePackage,
    ReferenceValues,
    find_faulty_settings,
    judge_filled,
)
from mainspring.recipes.package.judging import ASKS_MORE

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.recipes.codex.desk import CodexServices


async def check_filled(
    desk: CodexServices, ctx: CallContext, package: RecipePackage, filling: ReferenceValues, at: str
) -> None:
    """Refuses values that would lead a recipe elsewhere than it says, each at its setting."""
    if package.kind not in ("automation", "integration"):
        return
    words = await desk.words.words(ctx.actor.workspace_id, package.template)
    wrong = await asyncio.to_thread(judge_filled, package, filling, words, desk.limits)
    if not wrong:
        return
    names = await asyncio.to_thread(find_faulty_settings, package, filling, words, desk.limits)
    if not names:
        more = [one for one in wrong if one.code in ASKS_MORE]
        if not more:
            # Whoever makes it says what is wrong with it, as with any other automation.
            return
        detail = f"{package.name!r} asks for more than it says: {more[0].detail}"
        raise Invalid(detail, code=more[0].code, findings=more)
    shown = " and ".join(names)
    detail = f"This value of {shown} leads the recipe elsewhere than it says: {wrong[0].detail}"
    hint: str | None = "Give the name alone, such as www.example.com: no https:// and no /."
    if not any(one.code in ASKS_MORE for one in wrong):
        # It leads nowhere at all, and the sentence about the place says why.
        detail = f"This value of {shown}, as it was filled in, does not do: {wrong[0].detail}"
        hint = wrong[0].suggestion
    raise Invalid(
        detail,
        code="setting_leads_elsewhere",
        findings=[
            Finding(join_pointer(at, one), detail, "setting_leads_elsewhere", hint) for one in names
        ],
        suggestion=hint,
    )
