"""What is set by us in a definition that a model wrote, whatever it wrote there."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from mainspring.authoring.generate.desk import tidy
from mainspring.authoring.own_notices import propose_approval, walk_steps
from mainspring.authoring.shapes import AutomationRequest
from mainspring.authoring.sketch.texts import loose
from mainspring.definition.model import CURRENT_VERSION

_NAME: Final = 200
_MOST_TEXT: Final = 4_000
_DRAFT: Final = "always_draft"
_POLICY: Final = "write_policy"


def normalize_definition(
    given: Mapping[str, Any], wish: AutomationRequest
) -> tuple[dict[str, Any], list[str]]:
    """The definition with our parts in it and without its grants, and what had to be put right."""
    before = wish.before or {}
    document = {**deepcopy(dict(given)), "schema_version": CURRENT_VERSION}
    document.pop("grants", None)
    for name, most in (("name", _NAME), ("goal", _MOST_TEXT)):
        if isinstance(document.get(name), str):
            document[name] = tidy(document[name], most)
    kept = before.get("intent")
    document["intent"] = kept if isinstance(kept, str) and kept else loose(wish.text)[:_MOST_TEXT]
    _as_before(document, before, "metadata")
    if wish.before is None:
        document["metadata"] = {"created_from_nl": True}
    _as_before(document, before, "retention")
    notes = _hold_writes(document, before)
    notes += _set_approvals(document, before)
    if wish.before is not None:
        _keep_ids(document, before)
    return document, notes


def _as_before(document: dict[str, Any], before: Mapping[str, Any], name: str) -> None:
    document.pop(name, None)
    if name in before:
        document[name] = deepcopy(before[name])


def _hold_writes(document: dict[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Whether writes may go without a person is for a person to say, never for a model."""
    execution = document.get("execution")
    earlier = before.get("execution")
    was = earlier.get(_POLICY, _DRAFT) if isinstance(earlier, Mapping) else _DRAFT
    if not isinstance(execution, dict):
        if was != _DRAFT and "execution" not in document:
            document["execution"] = {_POLICY: was}
        return []
    wanted = execution.pop(_POLICY, was)
    if was != _DRAFT:
        execution[_POLICY] = was
    if wanted == was:
        return []
    return ["The model would have changed which writes wait for a person; that was set back."]


def _set_approvals(document: dict[str, Any], before: Mapping[str, Any]) -> list[str]:
    """What is sent without asking is for a person to say; a notice to oneself is proposed so."""
    known = {one["step_id"]: one for one in walk_steps(before) if "step_id" in one}
    changed = False
    for step in walk_steps(document):
        wanted = step.pop("approval", None)
        was = known.get(step.get("step_id"), {})
        kept = was.get("approval") if was.get("action") == step.get("action") else None
        mode = kept if kept is not None else propose_approval(step)
        if mode is not None:
            step["approval"] = deepcopy(mode)
        changed |= wanted is not None and wanted != mode
    if not changed:
        return []
    return ["The model would have chosen what is sent without asking; that was set back."]


def _keep_ids(document: dict[str, Any], before: Mapping[str, Any]) -> None:
    """A trigger that lost its id in being written anew is still the one it was."""
    triggers, earlier = document.get("triggers"), before.get("triggers")
    if not isinstance(triggers, list) or not isinstance(earlier, list):
        return
    taken = [one.get("id") for one in triggers if isinstance(one, Mapping)]
    for place, one in enumerate(triggers):
        was = earlier[place] if place < len(earlier) else None
        if (
            isinstance(one, dict)
            and isinstance(was, Mapping)
            and not one.get("id")
            and one.get("type") == was.get("type")
            and was.get("id")
            and was["id"] not in taken
        ):
            one["id"] = was["id"]
