"""A definition that is refused because of a setting, said at that setting.

A recipe was judged before it came to the shelf, so what is wrong with the filled one is mostly a
value that somebody has just typed. They know their setting and not the place in a definition
that it ended up at. Which setting it is shows when each is tried alone, beside values that do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.json_values import is_same_value
from mainspring.definition.pointers import join_pointer
from mainspring.recipes.codex.contents import build_content
from mainspring.recipes.codex.desk import WorkspaceJudge
from mainspring.recipes.package import RecipePackage, ReferenceValues
from mainspring.recipes.package.standing_in import build_stand_ins

_AT: Final = "/overrides/settings"
_SHOWN: Final = 80
# It names its settings already.
_SAID: Final = ("setting_leads_elsewhere",)


async def attribute_to_settings(
    words: WorkspaceJudge,
    workspace_id: UUID,
    package: RecipePackage,
    filling: ReferenceValues,
    problem: Invalid,
) -> Invalid:
    """The problem at the settings that bring it about, or as it was where none does."""
    usual = dict(build_stand_ins(package.document).settings)
    if problem.code in _SAID:
        return problem
    if await _find_content_problems(words, workspace_id, package, replace(filling, settings=usual)):
        return problem
    found: list[Finding] = []
    for name, value in filling.settings.items():
        if is_same_value(value, usual.get(name)):
            continue
        tried = replace(filling, settings={**usual, name: value})
        found += _build_setting_findings(
            name, value, await _find_content_problems(words, workspace_id, package, tried)
        )
    if not found:
        return problem
    return Invalid(
        f"It cannot be installed like this: {found[0].detail}",
        code="bad_setting",
        findings=found,
        suggestion=found[0].suggestion,
    )


def _build_setting_findings(name: str, value: Any, wrong: Sequence[Finding]) -> list[Finding]:
    """Once for each setting: the same value often stands at several places."""
    if not wrong:
        return []
    first = wrong[0]
    text = str(value)
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    detail = f"{name}: {shown!r}, as it was filled in, does not do. {first.detail}"
    return [Finding(join_pointer(_AT, name), detail, first.code, first.suggestion)]


async def _find_content_problems(
    words: WorkspaceJudge, workspace_id: UUID, package: RecipePackage, filling: ReferenceValues
) -> Sequence[Finding]:
    try:
        content: Mapping[str, Any] = build_content(package, filling, {})
    except Invalid as problem:
        return problem.findings or (Finding("", problem.detail, problem.code),)
    if "definition" not in content:
        return ()
    return (await words.judge(workspace_id, content["definition"])).findings
