"""Where something goes, as a model may write it: a name that somebody gave, or a bare path.

A template that builds its destination shows a reader another one than it uses: a comment, a
statement or a text inside the braces is enough. Whatever was not said by anybody is told apart
here from what only hands on a value of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from mainspring.authoring.places import NOT_THERE, texts, value_at
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.pointers import join_pointer
from mainspring.definition.templates import has_syntax, parse_template
from mainspring.definition.templates.plainness import split_plain_template

Heard = Callable[[str], bool]

ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
# An address whose first part is made by a template: who has it is what its host says.
MADE_ADDRESS: Final = re.compile(r"\}\s{0,9}@\s{0,9}([\w-]{1,63}(?:\.[\w-]{1,63}){1,5})")
_ADDRESSES: Final = frozenset(
    {"to", "cc", "bcc", "reply_to", "email", "phone", "recipient", "recipients"}
)
_CHANNELS: Final = frozenset({"channel", "channel_id", "chat_id", "user_id", "install_id"})
_AUTHORITY: Final = re.compile(r"\s*https?://([^/?#]*)", re.IGNORECASE)
# A setting of a step or of an agent's tool; deeper down is what it sends, not where to.
_SETTING: Final = re.compile(r"/(?:config|params)/[^/]+(?:/\d+)?$")
# Stands for a value of the run.
_HOLE: Final = "\x00"
# What may stand around a value without naming anything.
_AROUND: Final = " \t\r\n#@.:+-_<>()[]\"'/,;"


def kind_of(pointer: str, key: str, text: str) -> str | None:
    """What a text names, if it is one that says where something goes."""
    if not _SETTING.search(pointer):
        return None
    if key in _CHANNELS:
        return "channel"
    if key in _ADDRESSES:
        return "address"
    # A host that stands there plainly is for the reader to see, and is remarked on.
    if key == "url" and has_syntax(text) and parse_template_host(text) is None:
        return "host"
    return None


def is_given(kind: str, text: str, heard: Heard) -> bool:
    """Whether a destination is made of nothing but what was said and bare values of the run."""
    if heard(text):
        return True
    if not has_syntax(text):
        return kind != "address" or "@" not in _without_heard(text, heard)
    try:
        parse_template(text, Limits(), secrets=True)
    except Invalid:
        # The validator tells what is wrong with it, and in better words.
        return True
    around = split_plain_template(text)
    if around is None:
        return False
    shown = _HOLE.join(around)
    if kind == "host":
        found = _AUTHORITY.match(shown)
        shown = found[1] if found is not None else shown.partition("/")[0]
    return all(_is_mentioned(part.strip(_AROUND), heard) for part in shown.split(_HOLE))


def _is_mentioned(name: str, heard: Heard) -> bool:
    return not name or heard(name)


def _without_heard(text: str, heard: Heard) -> str:
    """The text without the addresses that somebody said."""
    return ADDRESS.sub(lambda found: "" if heard(found[0]) else found[0], text)


def find_literal_texts(document: Mapping[str, Any], text: str) -> Iterator[tuple[str, str]]:
    """The texts of the document itself that a template hands on, with their pointers.

    A default of an input, a value of a trigger, what a step is told to make and the items of a
    loop are as plain as the destination would be, and stand further away from it.
    """
    try:
        found = parse_template(text, Limits(), secrets=True).references
    except Invalid:
        return
    for path in {one.path for one in found}:
        for pointer in _laid_at(document, path):
            value = value_at(document, pointer)
            if value is not NOT_THERE:
                yield from ((pointer + at, one) for at, _, one in texts(value))


def _laid_at(document: Mapping[str, Any], path: Sequence[str]) -> Iterator[str]:
    root, *keys = path
    if root == "inputs" and keys:
        yield join_pointer("/inputs/schema/properties", keys[0], "default")
        triggers = document.get("triggers")
        for place, _ in enumerate(triggers if isinstance(triggers, list) else ()):
            yield join_pointer("/triggers", place, "inputs", keys[0])
        return
    if root == "steps" and keys:
        root, *keys = keys
    # A plan with more steps is none that could be taken.
    for at, step in islice(_steps(document), Limits().steps):
        config = step.get("config")
        if not isinstance(config, Mapping):
            continue
        if step.get("action") == "transform_data" and step.get("step_id") == root:
            whole, exact = (
                join_pointer(at, "config", "output"),
                join_pointer(at, "config", "output", *keys),
            )
            yield whole if value_at(document, exact) is NOT_THERE else exact
        if step.get("action") == "for_each" and config.get("as", "item") == root:
            yield join_pointer(at, "config", "items")


def _steps(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every step, those inside of others too."""
    waiting: list[tuple[str, Any]] = [("/plan", document.get("plan"))]
    waiting.append(("/execution/on_failure", value_at(document, "/execution/on_failure")))
    while waiting:
        at, steps = waiting.pop()
        for place, step in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(step, Mapping):
                here = join_pointer(at, place)
                yield here, step
                inner = join_pointer(here, "config", "steps")
                waiting.append((inner, value_at(document, inner)))
