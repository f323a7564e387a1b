"""Install references in templates, such as ``{{ install.board.id }}``.

A recipe cannot know ids of another workspace, so it refers to a dependency, a setting, or the
installing member by name. Resolved values are data: they never become templates, and text is never
inserted where it would be parsed as an expression or code.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.definition.strict_json import hash_content, join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.recipes.kinds import RecipeKind

# A recipe that was read: its parts by name, and the document that they come from.


# Versions of recipes: three numbers, and which of two is newer.

# Each number fits the integers of the store.
SEMVER_PATTERN: Final = r"^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$"
SAYS: Final = "A version is three numbers with points between them, such as 1.2.0."

_VERSION: Final = re.compile(SEMVER_PATTERN.removeprefix("^").removesuffix("$"))


@dataclass(frozen=True, slots=True, order=True)
class Semver:
    """A version, ordered by its numbers."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @classmethod
    def parse(cls, text: object, at: str = "") -> Semver:
        """The version that a text spells, or ``Invalid`` with the place."""
        found = _VERSION.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise Invalid(SAYS, code="bad_version", findings=[Finding(at, SAYS, "bad_version")])
        return cls(int(found[1]), int(found[2]), int(found[3]))

    @property
    def rank(self) -> list[int]:
        """The numbers as the store keeps them, where lists are in the same order."""
        return [self.major, self.minor, self.patch]

    def compare(self, other: Semver) -> int:
        """Below zero when this is the older one, above when it is the newer, zero when neither."""
        return (self > other) - (self < other)

    def at_least(self, lowest: Semver) -> bool:
        """Whether this satisfies a request for that version or a newer one."""
        return self >= lowest


# The digest of a recipe: what it says, as thirty-two bytes.

PREFIX: Final = "sha256:"
DIGEST_PATTERN: Final = "^sha256:[0-9a-f]{64}$"

_BESIDE: Final = ("digest", "signature")


def compute_recipe_digest(document: Mapping[str, Any]) -> bytes:
    """The digest of what a recipe says."""
    return hash_content({key: part for key, part in document.items() if key not in _BESIDE})


def format_digest(digest: bytes) -> str:
    """How a digest is written into a recipe."""
    return PREFIX + digest.hex()


def check_digest(document: Mapping[str, Any]) -> Finding | None:
    """What is wrong with the digest that a recipe carries; one without says nothing false."""
    said = document.get("digest")
    if said is None or said == format_digest(compute_recipe_digest(document)):
        return None
    return Finding(
        "/digest",
        "The digest is that of another content: the recipe was changed after it was packed.",
        "wrong_digest",
        "Get it again from its publisher, or pack it again: `mainspring recipes pack`.",
    )


@dataclass(frozen=True, slots=True)
class RecipeDependency:
    """Another recipe that must stand first, and the name by which the template refers to it."""

    slug: str
    min_version: Semver
    reason: str
    name: str


@dataclass(frozen=True, slots=True)
class RecipeNeed:
    """Something that an install needs: a secret or a connection, by its name."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecipeRequirements:
    """What a recipe cannot work without and does not bring along."""

    secrets: tuple[RecipeNeed, ...] = ()
    publisher_secrets: tuple[RecipeNeed, ...] = ()
    connections: tuple[RecipeNeed, ...] = ()


@dataclass(frozen=True, slots=True)
class RecipeSetting:
    """A value that is chosen at install."""

    name: str
    type: str
    label: str
    default: Any = None
    has_default: bool = False
    required: bool = True
    # A value that would do; the judge uses it where there is no default.
    example: Any = None


@dataclass(frozen=True, slots=True)
class RecipePackage:
    """One version of a recipe. The template is as it was written, with its references."""

    slug: str
    version: Semver
    kind: RecipeKind
    name: str
    description: str
    publisher: str
    author: str | None
    category: str
    tags: tuple[str, ...]
    dependencies: tuple[RecipeDependency, ...]
    requires: RecipeRequirements
    grants: tuple[Grant, ...]
    hosts: tuple[str, ...]
    settings: tuple[RecipeSetting, ...]
    examples: tuple[Mapping[str, Any], ...]
    template: Mapping[str, Any]
    document: Mapping[str, Any]
    digest: bytes
    # The key that signed it; None: nobody did.
    public_key: bytes | None


OWNER: Final = "owner"
SETTINGS: Final = "settings"
# Names reserved for other references than dependencies.
RESERVED: Final = frozenset({OWNER, SETTINGS})

_OF_OWNER: Final = ("email", "id")
_OF_DEPENDENCY: Final = ("id", "name")
_REFERENCE: Final = re.compile(r"\{\{-?\s*install\.([a-z0-9_]{1,64})\.([a-z0-9_]{1,64})\s*-?\}\}")
# An expression that uses ``install`` in an unsupported way.
_SPEAKS: Final = re.compile(r"\{[{%](?:(?!\{[{%]|[%}]\}).)*?\binstall\s*[.\[]", re.DOTALL)
_OPENS: Final = re.compile(r"(?=\{[{%#])")
_CLOSES: Final = {"{{": "}}", "{%": "%}", "{#": "#}"}
_PLAIN: Final = re.compile(r"[^A-Za-z0-9 _.:/@-]")
# Keys whose whole text is an expression, with or without braces.
_EXPRESSIONS: Final = frozenset({"when"})
# Keys whose text is code.
_CODE: Final = frozenset({"source"})


@dataclass(frozen=True, slots=True)
class InstalledReference:
    """An installed dependency, by id and name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class InstallOwner:
    """The installing member."""

    id: str
    email: str


@dataclass(frozen=True, slots=True)
class ReferenceValues:
    """The values of one template's references."""

    owner: InstallOwner
    installs: Mapping[str, InstalledReference] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def value(self, of: str, what: str) -> Any:
        """Return the value of a reference; raises ``KeyError`` when missing."""
        if of == SETTINGS:
            return self.settings[what]
        if of == OWNER:
            return {"id": self.owner.id, "email": self.owner.email}[what]
        found = self.installs[of]
        return {"id": found.id, "name": found.name}[what]


@dataclass(frozen=True, slots=True)
class InstallReference:
    """A reference and its context."""

    pointer: str
    of: str
    what: str
    # It is the whole text, so its value keeps its type.
    whole: bool
    # It is inside an expression or a condition.
    inside: bool
    # It is in code.
    code: bool

    @property
    def shown(self) -> str:
        return f"install.{self.of}.{self.what}"


def find_references(value: Any, at: str = "") -> Iterator[InstallReference]:
    """List every reference of a template, in order."""
    for pointer, key, text in _iterate_texts(value, at):
        if "install" in text:
            yield from _find_text_references(text, pointer, key)


def find_reference_problems(
    value: Any, dependencies: Mapping[str, Any], settings: Mapping[str, str], at: str = ""
) -> Iterator[Finding]:
    """Find broken references, and ones where a value would be parsed as more than data.

    Settings are given with their types.
    """
    for pointer in _find_reference_keys(value, at):
        detail = "A key is not filled in; only values are."
        yield Finding(pointer, detail, "bad_reference")
    for pointer, key, text in _iterate_texts(value, at):
        if "install" not in text:
            continue
        if key not in _CODE and _SPEAKS.search(_REFERENCE.sub("", text)):
            yield Finding(
                pointer,
                "This reference to the install is not supported.",
                "bad_reference",
                "Write it alone, as in {{ install.board.id }} or {{ install.settings.site }}.",
            )
        for place in _find_text_references(text, pointer, key):
            wrong = _find_unknown_reference(
                place, dependencies, settings
            ) or _find_misplaced_reference(place, settings)
            if wrong is not None:
                yield wrong


def fill(template: Mapping[str, Any], filling: ReferenceValues, at: str = "") -> dict[str, Any]:
    """Resolve every reference; everything else is kept."""
    found: list[Finding] = []
    made = _fill_value(template, at, "", filling, found)
    if found:
        raise Invalid(
            f"The recipe cannot be filled in: {found[0].detail}",
            code="cannot_fill",
            findings=found,
        )
    assert isinstance(made, dict)
    return made


def validate_filled_value(value: Any, pointer: str) -> Finding | None:
    """Find why a value cannot be inserted: text that would be parsed as a template."""
    if isinstance(value, str) and _OPENS.search(value):
        detail = "This text has the beginning of a template in it; a value is data and no more."
        hint = "Leave out {{, {% and {#."
        return Finding(pointer, detail, "value_is_template", hint)
    return None


def _find_unknown_reference(
    place: InstallReference, dependencies: Mapping[str, Any], settings: Mapping[str, str]
) -> Finding | None:
    if place.of == SETTINGS:
        if place.what in settings:
            return None
        detail = f"The recipe has no setting {place.what!r}."
        hint = suggest_nearest(place.what, settings) or "Declare it in settings."
        return Finding(place.pointer, detail, "unknown_setting", hint)
    if place.of != OWNER and place.of not in dependencies:
        detail = f"The recipe has no dependency that is called {place.of!r}."
        near = suggest_nearest(place.of, [*dependencies, *RESERVED])
        way_out = "Declare it in dependencies; its name is `as`, or the slug with underscores."
        return Finding(place.pointer, detail, "unknown_dependency", near or way_out)
    known = _OF_OWNER if place.of == OWNER else _OF_DEPENDENCY
    if place.what in known:
        return None
    detail = f"{place.shown} does not exist; there is {' and '.join(known)}."
    return Finding(place.pointer, detail, "bad_reference", suggest_nearest(place.what, known))


def _find_misplaced_reference(
    place: InstallReference, settings: Mapping[str, str]
) -> Finding | None:
    if not place.inside or place.what == "id":
        return None
    if place.of == SETTINGS and settings.get(place.what) in ("number", "boolean"):
        return None
    return Finding(
        place.pointer,
        f"{place.shown} is text inside an expression, where it could be evaluated as code.",
        "reference_in_expression",
        "Make it the default of an input, and use the input in the expression.",
    )


def _fill_value(
    value: Any, at: str, key: str, filling: ReferenceValues, found: list[Finding]
) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _fill_value(part, join_pointer(at, name), name, filling, found)
            for name, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _fill_value(part, join_pointer(at, number), key, filling, found)
            for number, part in enumerate(value)
        ]
    if not isinstance(value, str) or "install" not in value:
        return value
    try:
        return _fill_text(value, at, key, filling)
    except _UnfilledReference as wrong:
        found.append(wrong.finding)
        return value


class _UnfilledReference(Exception):
    """A reference without a value, or with one that cannot be used here."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.code)
        self.finding = finding


def _fill_text(text: str, at: str, key: str, filling: ReferenceValues) -> Any:
    places = [*_find_text_references(text, at, key)]
    if not places:
        return text
    values = [_get_reference_value(place, filling) for place in places]
    if places[0].whole and not places[0].code and key not in _EXPRESSIONS:
        return values[0]
    spell: Callable[[Any], str] = _as_code if places[0].code else _as_text
    pieces = iter(values)
    made = _REFERENCE.sub(lambda _: spell(next(pieces)), text)
    before = len(_OPENS.findall(_REFERENCE.sub("", text)))
    if not places[0].code and len(_OPENS.findall(made)) > before:
        detail = "The value here would form a template together with the text next to it."
        raise _UnfilledReference(Finding(at, detail, "value_is_template"))
    return made


def _get_reference_value(place: InstallReference, filling: ReferenceValues) -> Any:
    try:
        value = filling.value(place.of, place.what)
    except KeyError:
        detail = f"There is no value for {place.shown}."
        raise _UnfilledReference(Finding(place.pointer, detail, "no_value")) from None
    wrong = validate_filled_value(value, place.pointer)
    if wrong is None and place.inside and place.what != "id" and isinstance(value, str):
        detail = f"{place.shown} is text inside an expression."
        wrong = Finding(place.pointer, detail, "reference_in_expression")
    if wrong is not None:
        raise _UnfilledReference(wrong)
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _as_code(value: Any) -> str:
    """Quote text as a string literal; numbers and booleans are inserted as such."""
    if not isinstance(value, str):
        return json.dumps(value)
    return _PLAIN.sub(lambda found: _escape_character(found[0]), value)


def _escape_character(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


def _find_text_references(text: str, pointer: str, key: str) -> Iterator[InstallReference]:
    code = key in _CODE
    blocks = [] if code else _find_expression_blocks(text)
    for found in _REFERENCE.finditer(text):
        before = bisect(blocks, (found.start(), 0)) - 1
        within = before >= 0 and found.start() < blocks[before][1]
        inside = not code and (within or key in _EXPRESSIONS)
        whole = found.start() == 0 and found.end() == len(text)
        yield InstallReference(pointer, found[1], found[2], whole, inside, code)


def _find_expression_blocks(text: str) -> list[tuple[int, int]]:
    """Find expression blocks, ignoring references inside them."""
    hidden = _REFERENCE.sub(lambda found: "\x00" * len(found[0]), text)
    found: list[tuple[int, int]] = []
    place = 0
    while opening := _OPENS.search(hidden, place):
        begin = opening.start()
        end = hidden.find(_CLOSES[hidden[begin : begin + 2]], begin + 2)
        # An unterminated block extends to the end, so that no text is scanned twice.
        place = len(hidden) if end < 0 else end + 2
        found.append((begin, place))
    return found


def _iterate_texts(value: Any, at: str, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield every text of a value with its pointer and key."""
    if isinstance(value, str):
        yield at, key, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _iterate_texts(part, join_pointer(at, name), name)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _iterate_texts(part, join_pointer(at, number), key)


def _find_reference_keys(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            if _REFERENCE.search(name):
                yield join_pointer(at, name)
            yield from _find_reference_keys(part, join_pointer(at, name))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _find_reference_keys(part, join_pointer(at, number))


# Stand-in values, so that a recipe can be validated without an install.

# Valid as a host, a word and a title, which covers most settings.
_SOME_TEXT: Final = "stand-in.example"
_SOME: Final[Mapping[Any, Any]] = {"string": _SOME_TEXT, "number": 1, "boolean": True}


def build_stand_in_id(name: str) -> str:
    """A deterministic id that nothing has."""
    made = sha256(name.encode()).hexdigest()
    return f"01900000-0000-7{made[:3]}-8{made[3:6]}-{made[6:18]}"


def build_stand_ins(document: Mapping[str, Any]) -> ReferenceValues:
    """Build stand-ins for an unvalidated document; unreadable parts are skipped."""
    installs = {
        name: InstalledReference(build_stand_in_id(name), f"The {name} of someone")
        for entry in _iterate_objects(document.get("dependencies"))
        if isinstance(name := _get_entry_name(entry), str)
    }
    settings = {
        entry["name"]: _choose_sample_value(entry)
        for entry in _iterate_objects(document.get("settings"))
        if isinstance(entry.get("name"), str)
    }
    return ReferenceValues(
        InstallOwner(build_stand_in_id("owner"), "somebody@example.com"), installs, settings
    )


def fill_with_stand_ins(document: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve with stand-ins, or return the document unchanged when that fails."""
    filling = build_stand_ins(document)
    made = dict(document)
    for key in ("template", "grants", "hosts"):
        if key in made:
            try:
                made[key] = fill({key: made[key]}, filling)[key]
            except Invalid:
                continue
    return made


def _choose_sample_value(entry: Mapping[str, Any]) -> Any:
    for key in ("default", "example"):
        if isinstance(entry.get(key), str | int | float):
            return entry[key]
    kind = entry.get("type")
    return _SOME.get(kind, _SOME_TEXT) if isinstance(kind, str) else _SOME_TEXT


def _get_entry_name(entry: Mapping[str, Any]) -> Any:
    slug = entry.get("slug")
    return entry.get("as") or (slug.replace("-", "_") if isinstance(slug, str) else None)


def _iterate_objects(entries: Any) -> Iterator[Mapping[str, Any]]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            yield entry
