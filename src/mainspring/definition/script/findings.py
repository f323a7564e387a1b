"""Problems of a script, each with its line, column and remedy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.contracts.grant import Grant
from mainspring.definition.grants import NEVER_GRANTED, merge_grants
from mainspring.definition.script.parser import (
    LONGEST,
    MOST_ANGLES,
    Script,
    ScriptCapabilityCall,
    ScriptImport,
    ScriptSyntaxFinding,
    SecretPlaceholder,
    read_script,
)
from mainspring.definition.script.sdk_names import SDK_PATH
from mainspring.definition.script.syntax import SourceLocation
from mainspring.definition.suggestions import suggest_nearest
from mainspring.definition.tool_patterns import HOSTED

# What a script may call: its configured grants, or those derived from its text.

# The automation's own memory and failures, which every script may use.
KV: Final = (
    "automation_kv.delete",
    "automation_kv.get",
    "automation_kv.list",
    "automation_kv.set",
    "automation_recent_failures",
)


def derive_grants(source: str) -> tuple[Grant, ...]:
    """One grant for each capability that the text calls; hosts only where they are constant."""
    calls = read_script(source).calls
    asked = {call.capability for call in calls} - {*KV}
    hosts: dict[str, set[str]] = {name: set() for name in asked & HOSTED}
    for call in calls:
        if call.host is not None:
            hosts[call.capability].add(call.host)
    return merge_grants(
        Grant(name, {"hosts": sorted(hosts[name])} if name in HOSTED else {})
        for name in (*KV, *asked)
    )


def read_script_grants(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    """What a script step may call: the grants of its config, or those derived from its text."""
    source, given = config.get("source"), config.get("grants")
    if not isinstance(given, list | tuple):
        return derive_grants(source if isinstance(source, str) else "")
    read = [_read(entry) for entry in given]
    return merge_grants([*map(Grant, KV), *(grant for grant in read if grant is not None)])


def _read(entry: Any) -> Grant | None:
    """An entry of the config; an invalid one is reported elsewhere and grants nothing."""
    tool = entry.get("tool") if isinstance(entry, Mapping) else None
    params = entry.get("params") if isinstance(entry, Mapping) else None
    if not isinstance(tool, str) or not (params is None or isinstance(params, Mapping)):
        return None
    return Grant(tool, dict(params or {}))


POINTER: Final = "/source"
_MOST: Final = 50
_LONGEST_QUOTE: Final = 100
_SECRET: Final = re.compile(r"[a-z0-9_]{1,64}")
_ONLY_SDK: Final = (
    f'A script is one file: import nothing but the SDK (from "https://…{SDK_PATH}" or '
    '"mainspring"), and reach other systems with brains.http_fetch or fetch.'
)
_ONLY_REQUESTS: Final = (
    "A secret is added when the request is sent, in the url, the headers and the query of "
    "brains.http_fetch, or the url and the headers of fetch: write the placeholder there, as a "
    "text of its own that no function works on."
)


def find_script_problems(
    source: str,
    granted: Collection[str] | None,
    known: Collection[str],
    grantable: Collection[str],
) -> list[Finding]:
    """Check a script; ``granted`` is None when its own text determines its grants."""
    if not 1 <= len(source) <= LONGEST:
        detail = f"A script has 1 to {LONGEST:,} characters; this one has {len(source):,}."
        return [Finding(POINTER, detail, "script_length")]
    if "\x00" in source:
        detail = "A script is a text, and this one has a NUL character in it."
        return [Finding(POINTER, detail, "script_nul")]
    if source.count("<") > MOST_ANGLES:
        detail = (
            f"A script has at most {MOST_ANGLES:,} signs <; this one has {source.count('<'):,}."
        )
        hint = "Keep a long HTML text in a page or a board, and read it from there."
        return [Finding(POINTER, detail, "script_angles", hint)]
    script = read_script(source)
    return list(islice(_all(script, granted, known, grantable), _MOST))


def _all(
    script: Script,
    granted: Collection[str] | None,
    known: Collection[str],
    grantable: Collection[str],
) -> Iterator[Finding]:
    yield from map(_fault, script.faults)
    yield from (_import(one) for one in script.imports if _is_refused(one))
    for placeholder in script.placeholders:
        yield from _placeholder(placeholder)
    told: set[str] = set()
    for call in script.calls:
        # Report only the first location of an unknown name.
        if call.capability not in told:
            told.add(call.capability)
            yield from _call(call, granted, known, grantable)


def _fault(fault: ScriptSyntaxFinding) -> Finding:
    if not fault.near:
        return _finding(
            fault.place, "parsing takes too long from here on; split the script.", "script_syntax"
        )
    detail = f"this cannot be read as TypeScript, near {fault.near!r}."
    if fault.missing:
        detail = f"this cannot be read as TypeScript: {fault.near!r} is missing."
    return _finding(fault.place, detail, "script_syntax")


def _is_refused(one: ScriptImport) -> bool:
    """An import without a specifier that is not computed is already a syntax finding."""
    if one.specifier is None:
        return one.kind == "dynamic"
    return one.kind != "meta" and not one.is_sdk


def _import(one: ScriptImport) -> Finding:
    if one.specifier is None:
        detail = "an import whose name is computed cannot be allowed."
    else:
        detail = f"{one.specifier[:_LONGEST_QUOTE]!r} cannot be imported."
    return _finding(one.place, detail, "script_import", _ONLY_SDK)


def _placeholder(one: SecretPlaceholder) -> Iterator[Finding]:
    if _SECRET.fullmatch(one.name) is None:
        if one.part:
            detail = (
                f"{one.name!r} is no name of a secret, which has lower-case letters, digits and _."
            )
            suggestion = f"Did you mean {one.name.lower()!r}?"
            yield _finding(one.place, detail, "secret_name", suggestion)
    elif not one.part:
        detail = f"the secret {one.name!r} is not replaced here."
        yield _finding(one.place, detail, "template_secret", _ONLY_REQUESTS)
    elif not one.literal:
        detail = f"the secret {one.name!r} is written with an escape, so it would not be replaced."
        suggestion = f"Write {{{{{one.name}}}}} literally, without a backslash."
        yield _finding(one.place, detail, "template_secret", suggestion)


def _call(
    call: ScriptCapabilityCall,
    granted: Collection[str] | None,
    known: Collection[str],
    grantable: Collection[str],
) -> Iterator[Finding]:
    name = call.capability
    shown = name[:_LONGEST_QUOTE]
    if name.startswith(NEVER_GRANTED):
        detail = f"{shown} is for administrators, and an automation can never be given it."
        yield _finding(call.place, detail, "never_granted")
    elif name not in known:
        detail = f"there is no capability called {shown!r}."
        suggestion = suggest_nearest(name, sorted(grantable))
        yield _finding(call.place, detail, "unknown_capability", suggestion)
    elif name not in grantable:
        detail = f"{shown} is for people, and an automation can never be given it."
        yield _finding(call.place, detail, "never_granted")
    elif granted is not None and name not in granted and name not in KV:
        detail = f"{shown} is called and not granted."
        suggestion = f"Add {{tool: {shown!r}}} to the grants, or take the call out."
        yield _finding(call.place, detail, "not_granted", suggestion)


def _finding(
    place: SourceLocation, detail: str, code: str, suggestion: str | None = None
) -> Finding:
    return Finding(POINTER, f"{place}: {detail}", code, suggestion)
