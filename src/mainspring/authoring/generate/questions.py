"""What a model wants to have asked: only for a value inside a config, and in a tidy form."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any, Final

from mainspring.authoring.config_places import schema_at
from mainspring.authoring.generate.desk import tidy
from mainspring.authoring.generate.names import KnownNames
from mainspring.authoring.places import NOT_THERE, parent_of, value_at
from mainspring.authoring.shapes import ProposalQuestion, QuestionChoice
from mainspring.contracts.errors import Finding, Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.pointers import join_pointer, split_pointer

MOST: Final = 10
_MOST_CHOICES: Final = 12
_LONGEST: Final = 300
_LABEL: Final = 100
# A longer answer is for the person to write, not to be taken with one key.
_LONGEST_CHOICE: Final = 200
_POINTER: Final = 500
# Values inside the settings of triggers and steps, and caps; never a step, a name or a grant.
_PLACE: Final = re.compile(
    r"/(?:triggers/\d{1,4}/(?:config|inputs)/.+"
    r"|(?:plan|execution/on_failure)/\d{1,4}/config/.+"
    r"|inputs/schema/properties/[^/]+/default"
    r"|execution/(?:budget_cap_usd|cost_cap_daily_usd|timeout_seconds|model)"
    r"|writes/(?:dedupe_key_field|dedupe_target_field))",
    re.DOTALL,
)
# What decides what may be done, and to whom; a person who answers does not see it so.
_NEVER: Final = frozenset(
    {"grants", "tools", "tool", "params", "write_policy", "steps", "headers", "hosts", "definition"}
)
_NOT_NAME: Final = re.compile(r"[^a-z0-9_]+")
_WAY_OUT: Final = "Point at a value inside a config, such as /plan/0/config/channel."


def take(
    document: dict[str, Any], asked: Any, known: KnownNames
) -> tuple[list[ProposalQuestion], list[Finding]]:
    """The questions, with the values they ask for taken out of the document, and what is wrong."""
    if asked is None:
        return [], []
    if not isinstance(asked, list) or len(asked) > MOST:
        return [], [Finding("/questions", f"Questions are a list of at most {MOST}.", "questions")]
    made: dict[str, ProposalQuestion] = {}
    wrong: list[Finding] = []
    for place, one in enumerate(asked):
        found = _one(document, one, known)
        if isinstance(found, str):
            wrong.append(Finding(f"/questions/{place}", found, "question", _WAY_OUT))
        else:
            made.setdefault(found.pointer, found)
    for pointer in made:
        _take_out(document, pointer)
    return list(made.values()), wrong


def _one(document: dict[str, Any], one: Any, known: KnownNames) -> ProposalQuestion | str:
    given = one if isinstance(one, Mapping) else {}
    text, pointer = tidy(given.get("question"), _LONGEST), given.get("pointer")
    if not text or not isinstance(pointer, str):
        return "A question has a pointer and a text, question."
    place = _place(document, pointer)
    if place is None:
        return f"Nothing can be asked for at {tidy(pointer, _LABEL)!r}."
    return _question(document, place, text, known, given.get("choices"))


def _place(document: dict[str, Any], pointer: str) -> str | None:
    """Where an answer can be put: the nearest value that is no item of a list."""
    if len(pointer) > _POINTER:
        return None
    while isinstance(value_at(document, parent_of(pointer)), list):
        pointer = parent_of(pointer)
    if not _PLACE.fullmatch(pointer) or _decides(document, pointer):
        return None
    above = value_at(document, parent_of(pointer))
    if above is NOT_THERE and parent_of(pointer).endswith("/config"):
        owner = value_at(document, parent_of(parent_of(pointer)))
        return pointer if isinstance(owner, dict) else None
    # A step is no value, and neither are the steps inside one.
    if not isinstance(above, dict) or "step_id" in above or pointer.endswith("/steps"):
        return None
    return pointer


def _decides(document: Mapping[str, Any], pointer: str) -> bool:
    """Whether what stands there says what an automation may do, rather than what it does."""
    *above, last = split_pointer(pointer)
    if last in _NEVER or "grants" in above or "tools" in above:
        return True
    owner = value_at(document, parent_of(parent_of(pointer)))
    return last == "source" and isinstance(owner, Mapping) and owner.get("action") == "script"


def _take_out(document: dict[str, Any], pointer: str) -> None:
    above = value_at(document, parent_of(pointer))
    if above is NOT_THERE:
        owner = value_at(document, parent_of(parent_of(pointer)))
        if isinstance(owner, dict):
            owner["config"] = {}
    elif isinstance(above, dict):
        above.pop(split_pointer(pointer)[-1], None)


def _question(
    document: Mapping[str, Any], pointer: str, text: str, known: KnownNames, choices: Any
) -> ProposalQuestion:
    """A question for the value at a pointer, with the answers that are known."""
    schema = schema_at(document, pointer, known.words)
    shape = {"type": "string", "minLength": 1} if schema is None else schema
    offered = _there(pointer, known, document) or _offered(choices, shape, known)
    return ProposalQuestion(_name(document, pointer), "value", pointer, text, shape, tuple(offered))


def _name(document: Mapping[str, Any], pointer: str) -> str:
    """A name that stays while the step does, wherever that moves: post-channel."""
    parts = split_pointer(pointer)
    for place in range(len(parts) - 1, 0, -1):
        owner = value_at(document, join_pointer("", *parts[:place]))
        named = owner.get("step_id") or owner.get("type") if isinstance(owner, Mapping) else None
        if isinstance(named, str):
            return _slug(f"{named} {' '.join(parts[place:])}".replace("config", "", 1))
    return _slug(" ".join(parts))


def _slug(text: str) -> str:
    return _NOT_NAME.sub("-", text.lower())[:_LABEL].strip("-") or "value"


def free(name: str, taken: Collection[str]) -> str:
    """The name, or one like it that nothing else has."""
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _there(pointer: str, known: KnownNames, document: Mapping[str, Any]) -> list[QuestionChoice]:
    """What the workspace itself has for such a place."""
    key, resources = split_pointer(pointer)[-1], known.resources
    if key == "board_id":
        return [
            QuestionChoice(tidy(one.name, _LABEL), one.id)
            for one in resources.boards[:_MOST_CHOICES]
        ]
    owner = value_at(document, parent_of(parent_of(pointer)))
    action = owner.get("action") if isinstance(owner, Mapping) else None
    called = known.words.capabilities.get(action) if isinstance(action, str) else None
    if called is not None and key in called.annotations.secret_arguments:
        return [
            QuestionChoice(name, f"{{{{ secrets.{name} }}}}")
            for name in resources.secrets[:_MOST_CHOICES]
        ]
    return []


def _offered(choices: Any, schema: Mapping[str, Any], known: KnownNames) -> list[QuestionChoice]:
    """What the model would offer, as far as it fits and names nothing that is not there."""
    given: Sequence[Any] = choices if isinstance(choices, list) else ()
    fits = _fitting(schema)
    made = []
    for value in given[:_MOST_CHOICES]:
        if not isinstance(value, str | int | float | bool) or not fits(value):
            continue
        if isinstance(value, str) and (
            value != tidy(value, _LONGEST_CHOICE) or not known.is_choice(value)
        ):
            continue
        made.append(QuestionChoice(_label(str(value)), value))
    return made


def _label(text: str) -> str:
    """The whole of a short answer; of a longer one its beginning, and that there is more."""
    if len(text) <= _LABEL:
        return text
    return f"{tidy(text[:_LABEL], _LABEL)}… ({len(text)} characters)"


def _fitting(schema: Mapping[str, Any]) -> Any:
    try:
        return compile_schema(dict(schema), Limits()).is_valid
    except Problem:
        return lambda value: isinstance(value, str)
