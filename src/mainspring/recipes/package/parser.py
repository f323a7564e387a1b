"""Parsing a recipe document into a ``RecipePackage``, or all its problems.

A recipe is untrusted: its structure, digest and signature are validated before any part of it is
used, and each problem is reported with its pointer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.strict_json import check_value, encode_canonical, join_pointer
from mainspring.recipes.package.references import (
    RESERVED,
    RecipeDependency,
    RecipeNeed,
    RecipePackage,
    RecipeRequirements,
    RecipeSetting,
    Semver,
    check_digest,
    compute_recipe_digest,
    fill_with_stand_ins,
    find_reference_problems,
    validate_filled_value,
)
from mainspring.recipes.package.schema import FORMAT, FORMAT_VERSION, build_recipe_schema
from mainspring.recipes.package.signing import get_public_key, validate_signature

_ANY_VERSION: Final = "0.0.0"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
}


def read_package(value: Any, limits: Limits | None = None) -> RecipePackage:
    """Parse a recipe, or raise ``Invalid`` with every finding."""
    limits = limits or Limits()
    check_value(value, limits)
    findings = [*_find_problems(value, limits)]
    if findings:
        count = len(findings)
        things = "1 problem" if count == 1 else f"{count} problems"
        detail = f"The recipe has {things}. {findings[0].detail}"
        raise Invalid(detail, code="invalid_recipe", findings=findings)
    return _build_package(value)


def _find_problems(value: Any, limits: Limits) -> list[Finding]:
    """Return the findings of the first check that fails."""
    if not isinstance(value, dict):
        return [Finding("", "A recipe is a JSON object.", "type")]
    if len(encode_canonical(value)) > limits.json_bytes:
        detail = f"The recipe is larger than {limits.json_bytes:,} bytes."
        return [Finding("", detail, "recipe_too_large")]
    strange = _find_format_problem(value)
    if strange is not None:
        return [strange]
    found = _compile_recipe_schema().findings(fill_with_stand_ins(value))
    if found:
        return found
    looks = (
        _find_file_reference,
        _find_duplicates,
        _validate_settings,
        _find_broken_references,
        _validate_digest_and_signature,
    )
    return [finding for look in looks for finding in look(value)]


@lru_cache(maxsize=1)
def _compile_recipe_schema() -> Validator:
    return compile_schema(build_recipe_schema(), Limits())


def _find_format_problem(value: Mapping[str, Any]) -> Finding | None:
    version = value.get("format_version")
    newer = type(version) is int and version > FORMAT_VERSION
    if value.get("format") != FORMAT or not newer:
        return None
    detail = f"This recipe is written in format {version}; this server reads {FORMAT_VERSION}."
    return Finding("/format_version", detail, "newer_format", "Bring Mainspring up to date.")


def _find_file_reference(value: Mapping[str, Any]) -> Iterator[Finding]:
    """Reject a file reference: a packed document contains its script."""
    if "source_file" in value["template"].get("script", {}):
        detail = "source_file works only in a recipe folder. This recipe is a single file."
        hint = "Name the folder, or pack it: `mainspring recipes pack FOLDER`."
        yield Finding("/template/script/source_file", detail, "source_file_alone", hint)


def _find_duplicates(value: Mapping[str, Any]) -> Iterator[Finding]:
    """Find duplicate names."""
    requires = value.get("requires", {})
    listed: tuple[tuple[str, str, Iterable[Any]], ...] = (
        ("/dependencies", "slug", value.get("dependencies", ())),
        ("/settings", "name", value.get("settings", ())),
        ("/requires/secrets", "name", requires.get("secrets", ())),
        ("/requires/publisher_secrets", "name", requires.get("publisher_secrets", ())),
        ("/requires/connections", "integration", requires.get("connections", ())),
    )
    for at, key, entries in listed:
        yield from _find_repeated_names(
            ((join_pointer(at, n, key), one[key]) for n, one in enumerate(entries))
        )
    called: set[str] = set()
    for number, entry in enumerate(value.get("dependencies", ())):
        pointer, name = join_pointer("/dependencies", number, "as"), get_dependency_name(entry)
        if entry["slug"] == value["slug"]:
            detail = "A recipe does not depend on itself."
            yield Finding(
                join_pointer("/dependencies", number, "slug"), detail, "depends_on_itself"
            )
        if name in RESERVED:
            detail = f"{name!r} is reserved in references."
            yield Finding(pointer, detail, "reserved_name", "Give it another name with `as`.")
        elif name in called:
            detail = f"Two dependencies are called {name!r}."
            yield Finding(pointer, detail, "name_twice", "Give one another name with `as`.")
        called.add(name)


def _find_repeated_names(named: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    seen: set[str] = set()
    for pointer, name in named:
        if name in seen:
            yield Finding(pointer, f"{name!r} is there twice.", "name_twice")
        seen.add(name)


def _validate_settings(value: Mapping[str, Any]) -> Iterator[Finding]:
    for number, entry in enumerate(value.get("settings", ())):
        if entry.get("required") is False and "default" not in entry:
            detail = "An optional setting needs a default."
            yield Finding(join_pointer("/settings", number, "default"), detail, "no_default")
        for key in ("default", "example"):
            if key not in entry:
                continue
            wrong = validate_setting(
                entry["type"], entry[key], join_pointer("/settings", number, key)
            )
            if wrong is not None:
                yield wrong


def validate_setting(kind: str, value: Any, pointer: str) -> Finding | None:
    """Validate the value of a setting."""
    if isinstance(value, bool) != (kind == "boolean") or not isinstance(value, _TYPES[kind]):
        words = {"string": "text", "number": "a number", "boolean": "true or false"}
        return Finding(pointer, f"The value of this setting is {words[kind]}.", "type")
    return validate_filled_value(value, pointer)


def _find_broken_references(value: Mapping[str, Any]) -> Iterator[Finding]:
    """Find broken references."""
    names = {get_dependency_name(entry): entry for entry in value.get("dependencies", ())}
    settings = {entry["name"]: entry["type"] for entry in value.get("settings", ())}
    for key in ("template", "grants", "hosts"):
        yield from find_reference_problems(value.get(key), names, settings, f"/{key}")


def _validate_digest_and_signature(value: Mapping[str, Any]) -> Iterator[Finding]:
    wrong = check_digest(value)
    if wrong is None:
        wrong = validate_signature(value)
    if wrong is not None:
        yield wrong
    if "signature" in value and "digest" not in value:
        yield Finding("/digest", "A signed recipe carries the digest that was signed.", "required")


def get_dependency_name(dependency: Mapping[str, Any]) -> str:
    """The name by which a template refers to a dependency."""
    return str(dependency.get("as") or dependency["slug"].replace("-", "_"))


def _build_package(value: Mapping[str, Any]) -> RecipePackage:
    requires = value.get("requires", {})
    return RecipePackage(
        slug=value["slug"],
        version=Semver.parse(value["version"]),
        kind=value["kind"],
        name=value["name"],
        description=value["description"],
        publisher=value["publisher"],
        author=value.get("author"),
        category=value["category"],
        tags=tuple(value.get("tags", ())),
        dependencies=tuple(map(_build_dependency, value.get("dependencies", ()))),
        requires=RecipeRequirements(
            _build_needs(requires.get("secrets", ())),
            _build_needs(requires.get("publisher_secrets", ())),
            _build_needs(requires.get("connections", ())),
        ),
        grants=tuple(
            Grant(one["capability"], one.get("params", {})) for one in value.get("grants", ())
        ),
        hosts=tuple(value.get("hosts", ())),
        settings=tuple(map(_build_setting, value.get("settings", ()))),
        examples=tuple(value.get("examples", ())),
        template=value["template"],
        document=value,
        digest=compute_recipe_digest(value),
        public_key=get_public_key(value),
    )


def _build_dependency(entry: Mapping[str, Any]) -> RecipeDependency:
    lowest = Semver.parse(entry.get("min_version", _ANY_VERSION))
    return RecipeDependency(
        entry["slug"], lowest, entry.get("reason", ""), get_dependency_name(entry)
    )


def _build_needs(entries: Iterable[Mapping[str, Any]]) -> tuple[RecipeNeed, ...]:
    return tuple(
        RecipeNeed(one["integration"] if "integration" in one else one["name"], one["reason"])
        for one in entries
    )


def _build_setting(entry: Mapping[str, Any]) -> RecipeSetting:
    return RecipeSetting(
        name=entry["name"],
        type=entry["type"],
        label=entry.get("label", entry["name"]),
        default=entry.get("default"),
        has_default="default" in entry,
        required=entry.get("required", True),
        example=entry.get("example"),
    )
