"""Tolerant reading of a definition that may be unfinished, invalid or hostile.

Values of the wrong type are skipped, and the number of entries that are read is limited to more
than any valid definition has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.contracts.action import Action
from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import Capability
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.strict_json import join_pointer, split_pointer

MOST_STEPS: Final = 150
MOST_TRIGGERS: Final = 20
MOST_VALUES: Final = 4_000
MOST_CHARACTERS: Final = 150_000
_DEEPEST_STEP: Final = 4
_DEEPEST_VALUE: Final = 64
_LONGEST_POINTER: Final = 300
_LONG_KEY: Final = 20


@dataclass(frozen=True, slots=True)
class StepView:
    """A step with its resolved action."""

    pointer: str
    # Its number in the plan, such as 2 or 2.1.
    number: str
    id: str
    action: str
    config: Mapping[str, Any]
    whole: Mapping[str, Any]
    known: Action | None
    capability: Capability | None
    depth: int = 0
    after_failure: bool = False

    @property
    def is_agent(self) -> bool:
        return self.action in (AGENT_RUN, AGENT_TASK)

    @property
    def name(self) -> str:
        """Its label in a list of steps."""
        return self.id or f"step {self.number}"

    def at(self, *parts: str | int) -> str:
        """The pointer of a config value, or of the nearest existing ancestor."""
        here, value = join_pointer(self.pointer, "config"), self.whole.get("config")
        if not isinstance(value, Mapping):
            return self.pointer
        for part in parts:
            value = entry(value, str(part))
            if value is _ABSENT:
                return here
            here = join_pointer(here, part)
        return here


@dataclass(frozen=True, slots=True)
class TriggerView:
    """A trigger, as far as it can be read."""

    pointer: str
    id: str
    type: str
    config: Mapping[str, Any]
    enabled: bool


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A text of a document with its key."""

    pointer: str
    key: str
    text: str


_ABSENT: Final = object()


def listing(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def entry(value: Any, part: str) -> Any:
    """Return the child of a value for one pointer segment."""
    if isinstance(value, Mapping):
        return value.get(part, _ABSENT)
    if isinstance(value, list | tuple) and part.isascii() and part.isdigit() and len(part) < 9:
        return value[int(part)] if int(part) < len(value) else _ABSENT
    return _ABSENT


def resolves(document: Any, pointer: str) -> bool:
    """Report whether a pointer exists."""
    value = document
    for part in split_pointer(pointer):
        value = entry(value, part)
        if value is _ABSENT:
            return False
    return True


def value_at(document: Any, pointer: str) -> Any:
    """Return the value at a pointer; None when missing."""
    value = document
    for part in split_pointer(pointer):
        value = entry(value, part)
        if value is _ABSENT:
            return None
    return value


def find_nearest_pointer(document: Any, pointer: str) -> str:
    """Return the pointer or its nearest existing ancestor."""
    while pointer and (len(pointer) > _LONGEST_POINTER or not resolves(document, pointer)):
        pointer = pointer.rpartition("/")[0]
    return pointer


def read_all_steps(document: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[StepView, ...]:
    """List every step in order, nested ones after their parent, on_failure steps last."""
    found: list[StepView] = []
    _read(document.get("plan"), "/plan", "", vocabulary, 0, False, found)
    failing = mapping(document.get("execution")).get("on_failure")
    _read(failing, "/execution/on_failure", "", vocabulary, 0, True, found)
    return tuple(found)


def _read(
    steps: Any,
    at: str,
    above: str,
    vocabulary: Vocabulary,
    depth: int,
    failing: bool,
    found: list[StepView],
) -> None:
    for place, one in enumerate(listing(steps)[:MOST_STEPS]):
        if len(found) >= MOST_STEPS:
            return
        if not isinstance(one, Mapping):
            continue
        action = text_of(one.get("action"))
        step = StepView(
            pointer=join_pointer(at, place),
            number=f"{above}{place + 1}",
            id=text_of(one.get("step_id")),
            action=action,
            config=mapping(one.get("config")),
            whole=one,
            known=vocabulary.actions.get(action),
            capability=vocabulary.capabilities.get(action),
            depth=depth,
            after_failure=failing,
        )
        found.append(step)
        nested = None if step.known is None else step.known.nested
        if nested is not None and depth < _DEEPEST_STEP:
            below = join_pointer(step.pointer, "config", nested)
            _read(
                step.config.get(nested),
                below,
                f"{step.number}.",
                vocabulary,
                depth + 1,
                failing,
                found,
            )


def read_all_triggers(document: Mapping[str, Any]) -> tuple[TriggerView, ...]:
    """List every readable trigger, disabled ones included."""
    return tuple(
        TriggerView(
            join_pointer("/triggers", place),
            text_of(one.get("id")),
            text_of(one.get("type")),
            mapping(one.get("config")),
            one.get("enabled") is not False,
        )
        for place, one in enumerate(listing(document.get("triggers"))[:MOST_TRIGGERS])
        if isinstance(one, Mapping)
    )


@dataclass(slots=True)
class DocumentReader:
    """Walks the texts of a document in order, up to a limit."""

    values: int = MOST_VALUES
    characters: int = MOST_CHARACTERS
    # Whether something was left unread, and the first such place.
    full: bool = False
    stopped: str = ""

    def texts(self, value: Any, at: str = "", key: str = "") -> Iterator[DocumentText]:
        waiting: list[tuple[Any, str, str, int]] = [(value, at, key, 0)]
        while waiting:
            value, at, key, depth = waiting.pop()
            self.values -= 1
            if self.values < 0 or depth > _DEEPEST_VALUE:
                self._stop(at)
                return
            if isinstance(value, str):
                yield from self._text(value, at, key)
            elif isinstance(value, Mapping):
                yield from self._names(value, at)
                waiting += [
                    (below, join_pointer(at, str(name)), str(name), depth + 1)
                    for name, below in reversed(self._some(list(value.items()), at))
                ]
            elif isinstance(value, list | tuple):
                waiting += [
                    (below, join_pointer(at, place), key, depth + 1)
                    for place, below in reversed(list(enumerate(self._some(list(value), at))))
                ]

    def _stop(self, at: str) -> None:
        if not self.full:
            self.full, self.stopped = True, at

    def _names(self, value: Mapping[str, Any], at: str) -> Iterator[DocumentText]:
        """Keys that are long enough to carry text, each at its value's pointer."""
        for name in self._some(list(value), at):
            if len(str(name)) > _LONG_KEY:
                yield from self._text(str(name), join_pointer(at, str(name)), "")

    def _text(self, value: str, at: str, key: str) -> Iterator[DocumentText]:
        if not value:
            return
        if len(value) > self.characters:
            self._stop(at)
        seen = value[: self.characters]
        self.characters -= len(seen)
        if seen:
            yield DocumentText(at, key, seen)

    def _some(self, entries: list[Any], at: str) -> list[Any]:
        if len(entries) > MOST_VALUES:
            self._stop(at)
        return entries[:MOST_VALUES]


def texts_in(value: Any, at: str = "") -> Iterator[DocumentText]:
    """Return the texts of one part of a document, up to the limit."""
    return DocumentReader(values=500, characters=50_000).texts(value, at)
