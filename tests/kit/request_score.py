"""How right an answer to a request is, aspect by aspect, with a sentence where it is not.

Everything here reads documents that may lack anything, and raises on none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.capability import Effect
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.validate import validate
from tests.kit.lenient_lookup import CALLS, granted, part, steps_of, texts, used
from tests.kit.request_triggers import trigger_fault
from tests.kit.requests import LIMITS, Made, Request, World

ASPECTS: Final = ("trigger", "actions", "grants", "questions", "thinking", "valid")
THINKING: Final = frozenset({"agent_task", "agent.run", "automation_llm_complete"})
# Writes that reach nobody but the owner and the automation itself.
_HARMLESS: Final = frozenset(
    {"inbox.post_notification", "automation_kv.set", "automation_kv.delete"}
)
_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}", re.DOTALL)
_LIVE = re.compile(r"""\{([{%])(?:'[^']*'|"[^"]*"|(?![}%]\})[^'"])*[}%]\}""", re.DOTALL)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")


@dataclass(frozen=True, slots=True)
class Score:
    """One request, and for every aspect that is wrong a sentence that says how."""

    request: Request
    wrong: Mapping[str, str]

    @property
    def right(self) -> bool:
        return not self.wrong


def score(request: Request, made: Made, world: World) -> Score:
    """Scores one answer."""
    judges = {
        "trigger": trigger_fault(request, made, world),
        "actions": _actions(request, made, world),
        "grants": _grants(request, made, world),
        "questions": _questions(request, made),
        "thinking": _thinking(request, made),
        "valid": _valid(made, world),
    }
    return Score(request, {name: output for name, output in judges.items() if output is not None})


def _actions(request: Request, made: Made, world: World) -> str | None:
    there = used(made.document, world.vocabulary)
    lacking = ["|".join(one) for one in request.actions if not there & set(one)]
    if lacking:
        return f"lacks {', '.join(lacking)}; there: {', '.join(sorted(there)) or 'nothing'}"
    parts = [made.document.get(key) for key in ("triggers", "plan", "inputs", "execution")]
    text = "\n".join(texts(parts)).casefold()
    silent = [one for one in request.mentions if not _mentioned(one, text, world)]
    return f"does not mention {', '.join(silent)}" if silent else None


def _mentioned(wanted: str, text: str, world: World) -> bool:
    name = wanted.removeprefix("board:")
    forms = [name]
    if name != wanted:
        forms += [one.id for one in world.resources.boards if one.name == name]
    return any(form.casefold() in text for form in forms)


def _grants(request: Request, made: Made, world: World) -> str | None:
    words, given = world.vocabulary, granted(made.document, world.vocabulary)
    needed = {name for name in used(made.document, words) if name not in words.actions}
    unknown = sorted(name for name in given | needed if name not in words.capabilities)
    if unknown:
        return f"there is no {', '.join(unknown)}"
    agreed = {name for one in request.actions for name in one} | set(request.may) | _HARMLESS
    agreed |= {CALLS[name] for name in agreed if name in CALLS}
    writes = {name for name in given | needed if _writes(name, words)}
    if writes - agreed:
        return f"writes that nobody asked for: {', '.join(sorted(writes - agreed))}"
    if needed - given:
        return f"not granted: {', '.join(sorted(needed - given))}"
    live = _live(made.document) | given | needed
    found = [one for one in request.lacks if any(one in text for text in live)]
    if found:
        return f"must not be there: {', '.join(found)}"
    return _bounds(request, made)


def _writes(name: str, vocabulary: Vocabulary) -> bool:
    known = vocabulary.capabilities[name]
    return known.annotations.effect is not Effect.READ or not known.grantable


def _live(document: Mapping[str, Any]) -> set[str]:
    """What a run would work out: expressions in templates, without the texts quoted in them."""
    parts = [document.get(key) for key in ("triggers", "plan", "inputs", "execution")]
    live = {
        _QUOTED.sub("''", found.group())
        for text in texts(parts)
        for found in _LIVE.finditer(_RAW.sub("", text))
    }
    return live | {str(part(document, "execution", "write_policy"))}


def _bounds(request: Request, made: Made) -> str | None:
    for key, expected in request.execution.items():
        there = part(made.document, "execution", key)
        try:
            fits = there is not None and float(there) == expected
        except (TypeError, ValueError):
            fits = False
        if not fits:
            return f"{key} is {there}, and {expected} was said"
    return None


def _questions(request: Request, made: Made) -> str | None:
    asked = ", ".join(f"{one.kind} {one.pointer}" for one in made.questions)
    if request.complete and made.questions:
        return f"asks though all was said: {asked}"
    for expected in request.asks:
        if not any(_asked(one, made) for one in expected):
            return f"does not ask for {' or '.join(expected)}; asks: {asked or 'nothing'}"
    return None


def _asked(wanted: str, made: Made) -> bool:
    kind = wanted.removeprefix("kind:")
    if kind != wanted:
        return any(one.kind == kind for one in made.questions)
    return any(one.pointer.endswith(wanted) for one in made.questions)


def _thinking(request: Request, made: Made) -> str | None:
    actions = {str(step.get("action")) for step in steps_of(made.document)}
    if request.thinks is None or bool(actions & THINKING) == request.thinks:
        return None
    return "no model is asked" if request.thinks else "asks a model without need"


def _valid(made: Made, world: World) -> str | None:
    """What the validator finds may lie where something is still asked, and nowhere else."""
    report = validate(made.document, world.vocabulary, LIMITS)
    pointers = [at for one in made.questions for at in (one.pointer, *one.others)]
    wrong = [
        finding
        for finding in report.findings
        if not any(finding.pointer == at or finding.pointer.startswith(f"{at}/") for at in pointers)
    ]
    return "; ".join(f"{one.pointer}: {one.detail}" for one in wrong[:3]) if wrong else None
