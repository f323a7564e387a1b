"""Detecting names that a model invented: each must exist in the workspace or be given by a
person."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from mainspring.authoring.generate.context import RequestTurn, tidy
from mainspring.authoring.generate.prompts import dump_json
from mainspring.authoring.json_pointers import NOT_THERE, parent_of, texts, value_at
from mainspring.authoring.models import AutomationRequest
from mainspring.authoring.resources import WorkspaceResources
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.secret_use import locate_script_secrets
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.templates import has_syntax, parse_template
from mainspring.definition.templates.references import split_plain_template

# Destinations as a model may write them: a given name, or a bare path.

Heard = Callable[[str], bool]

ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
# An address whose local part is a template: the host decides whose it is.
MADE_ADDRESS: Final = re.compile(r"\}\s{0,9}@\s{0,9}([\w-]{1,63}(?:\.[\w-]{1,63}){1,5})")
_ADDRESSES: Final = frozenset(
    {"to", "cc", "bcc", "reply_to", "email", "phone", "recipient", "recipients"}
)
_CHANNELS: Final = frozenset({"channel", "channel_id", "chat_id", "user_id", "install_id"})
_AUTHORITY: Final = re.compile(r"\s*https?://([^/?#]*)", re.IGNORECASE)
# A setting of a step or tool; anything deeper is content, not a destination.
_SETTING: Final = re.compile(r"/(?:config|params)/[^/]+(?:/\d+)?$")
# Placeholder for a run-time value.
_HOLE: Final = "\x00"
# Characters around a value that name nothing.
_AROUND: Final = " \t\r\n#@.:+-_<>()[]\"'/,;"


def kind_of(pointer: str, key: str, text: str) -> str | None:
    """Return the kind of name that a destination text is, if any."""
    if not _SETTING.search(pointer):
        return None
    if key in _CHANNELS:
        return "channel"
    if key in _ADDRESSES:
        return "address"
    # A literal host is visible to the reviewer, and gets a remark.
    if key == "url" and has_syntax(text) and parse_template_host(text) is None:
        return "host"
    return None


def is_given(kind: str, text: str, heard: Heard) -> bool:
    """Report whether a destination consists only of given names and run-time values."""
    if heard(text):
        return True
    if not has_syntax(text):
        return kind != "address" or "@" not in _without_heard(text, heard)
    try:
        parse_template(text, Limits(), secrets=True)
    except Invalid:
        # The validator reports this with a better message.
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
    """Remove the given addresses from a text."""
    return ADDRESS.sub(lambda found: "" if heard(found[0]) else found[0], text)


def find_literal_texts(document: Mapping[str, Any], text: str) -> Iterator[tuple[str, str]]:
    """Find literal texts that templates pass on, with their pointers.

    Input defaults, trigger values, step outputs and loop items are as literal as the destination
    itself, only further away from it.
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
    # A plan with more steps is rejected anyway.
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
    """Yield every step, nested ones included."""
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


_ASK: Final = "Use one that list_resources tells, or leave the value out and ask for it."
_BARE: Final = (
    "Use one that the user gave or a bare path such as {{ inputs.channel }}, or leave the value "
    "out and ask for it."
)
_SPELT: Final = re.compile(r"\bsecrets\s*\.\s*(\w{1,64})")
_HOST: Final = re.compile(r"https?://(?:[^/\s@]{0,200}@)?([^/\s:?#{}]{1,253})", re.IGNORECASE)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHOWN: Final = 100
_MOST_NOTES: Final = 5
_MOST_FOUND: Final = 200
# How many templated destinations are checked.
_MOST_BUILT: Final = 300
_TOO_MANY: Final = f"There are more than {_MOST_BUILT} destinations with templates in them."


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a definition may use."""

    # Everything a person has said or saved before, case-folded.
    said: str
    resources: WorkspaceResources
    vocabulary: Vocabulary
    # Every text of the previous definition.
    kept: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        request: AutomationRequest,
        talk: Sequence[RequestTurn],
        resources: WorkspaceResources,
        vocabulary: Vocabulary,
    ) -> KnownNames:
        said = [request.text, *(turn.text for turn in talk if turn.by == "person")]
        if request.before is not None:
            said.append(dump_json(request.before))
        kept = frozenset(text for _, _, text in texts(request.before or {}))
        return cls("\n".join(said).casefold(), resources, vocabulary, kept)

    def is_mentioned(self, name: str) -> bool:
        """Report whether a person mentioned it, as a whole word."""
        wanted = name.casefold()
        if not wanted or wanted not in self.said:
            return False
        return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", self.said) is not None

    def is_choice(self, value: str) -> bool:
        """Report whether a text may be offered as an answer: names in it must exist."""
        named = value.startswith("#") or "@" in value or "://" in value
        return not has_syntax(value) and (not named or self.is_mentioned(value.strip("#")))


def find_invented_names(document: Mapping[str, Any], known: KnownNames) -> Iterator[Finding]:
    """Find invented names in a document, up to a limit."""
    return islice(_find_invented(document, known), _MOST_FOUND)


def _find_invented(document: Mapping[str, Any], known: KnownNames) -> Iterator[Finding]:
    built = 0
    for pointer, key, text in texts(document):
        for name in sorted(_secrets_in(document, pointer, key, text)):
            if name not in known.resources.secrets and not known.is_mentioned(f"secrets.{name}"):
                yield _unknown(pointer, "secret", name)
        unsaid = [one for one in _addresses(text) if not known.is_mentioned(one)]
        yield from (_unknown(pointer, "address", one) for one in unsaid)
        kind = None if unsaid or text in known.kept else kind_of(pointer, key, text)
        if kind is not None:
            built += has_syntax(text)
            if built > _MOST_BUILT:
                yield Finding(pointer, _TOO_MANY, "too_many_destinations")
                return
            yield from _find_foreign_destinations(document, pointer, kind, text, known)
        if not has_syntax(text):
            name_of = _find_named_kind(document, pointer, key)
            if name_of is not None and not _CHECKS[name_of](text, known):
                yield _unknown(pointer, name_of, text)


def _secrets_in(document: Mapping[str, Any], pointer: str, key: str, text: str) -> Iterable[str]:
    """Return the secrets that a text uses, as the template engine parses it."""
    if key == "source" and _caller(document, parent_of(parent_of(pointer))) == "script":
        return {one.name for one in locate_script_secrets(text)}
    if "secrets" not in text or not has_syntax(text):
        return ()
    try:
        return parse_template(text, Limits(), secrets=True).secret_names
    except Invalid:
        # The validator rejects it; names in it still count.
        return set(_SPELT.findall(text))


def _addresses(text: str) -> list[str]:
    return [*ADDRESS.findall(text), *MADE_ADDRESS.findall(text)]


def _find_foreign_destinations(
    document: Mapping[str, Any], pointer: str, kind: str, text: str, known: KnownNames
) -> Iterator[Finding]:
    """A destination built from more than given names and run-time values."""
    if not is_given(kind, text, known.is_mentioned):
        detail = f"The {kind} {tidy(text, _SHOWN)!r} contains values that are not in the request."
        yield Finding(pointer, detail, f"invented_{kind}", _BARE)
    elif has_syntax(text):
        for at, one in find_literal_texts(document, text):
            if one not in known.kept and not _is_known(kind, one, known):
                yield _unknown(at, kind, one)


def _is_known(kind: str, text: str, known: KnownNames) -> bool:
    """Report whether a text that becomes a destination is a given name."""
    if has_syntax(text) or kind == "address":
        return is_given(kind, text, known.is_mentioned)
    if kind == "host":
        return all(known.is_mentioned(host) for host in _HOST.findall(text) or [text])
    return known.is_mentioned(text.strip("#"))


def _find_named_kind(document: Mapping[str, Any], pointer: str, key: str) -> str | None:
    """Return the kind of name by its place."""
    if key in ("board_id", "boards"):
        return "board" if _UUID.fullmatch(str(value_at(document, pointer))) else None
    if key in ("channel", "event_type"):
        return key.replace("_type", " type")
    above = parent_of(pointer)
    if key == "secret" and above.endswith("/config/signature"):
        return "secret"
    if key == "name" and _caller(document, parent_of(above)) == "get_board":
        return "board name"
    return None


def _caller(document: Mapping[str, Any], pointer: str) -> Any:
    owner = value_at(document, pointer)
    return (owner.get("action") or owner.get("tool")) if isinstance(owner, Mapping) else None


def _is_event(name: str, known: KnownNames) -> bool:
    own = known.resources.event_types or {}
    return name in known.vocabulary.events or name in own or known.is_mentioned(name)


_CHECKS: Final[Mapping[str, Callable[[str, KnownNames], bool]]] = {
    "board": lambda name, known: (
        any(board.id == name for board in known.resources.boards) or known.is_mentioned(name)
    ),
    "board name": lambda name, known: (
        any(board.name == name for board in known.resources.boards) or known.is_mentioned(name)
    ),
    "channel": lambda name, known: known.is_mentioned(name.strip("#")),
    "event type": _is_event,
    "secret": lambda name, known: name in known.resources.secrets or known.is_mentioned(name),
}


def _unknown(pointer: str, kind: str, name: str) -> Finding:
    what = kind.removesuffix(" name")
    detail = f"The request does not name the {what} {tidy(name, _SHOWN)!r}, and there is none here."
    return Finding(pointer, detail, f"invented_{what.replace(' ', '_')}", _ASK)


def remarks(document: Mapping[str, Any], known: KnownNames) -> list[str]:
    """Names that are probably intended and that a person should check."""
    return list(dict.fromkeys(_remarks(document, known)))[:_MOST_NOTES]


def _remarks(document: Mapping[str, Any], known: KnownNames) -> Iterator[str]:
    for pointer, key, text in texts(document):
        for host in _HOST.findall(text):
            if not known.is_mentioned(host):
                yield f"It speaks of {tidy(host, _SHOWN)}, which the request does not name."
        missing = not has_syntax(text) and text not in known.resources.page_types
        if missing and _is_page_type(document, pointer, key):
            yield f"There are no pages of the type {tidy(text, _SHOWN)!r} here yet."


def _is_page_type(document: Mapping[str, Any], pointer: str, key: str) -> bool:
    if key == "page_type":
        return True
    owner = _caller(document, parent_of(parent_of(pointer)))
    return key == "type" and owner in ("list_pages", "search", "query")
