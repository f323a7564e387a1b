"""Ids of one workspace in a recipe for all: they lead nowhere for every other installer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.definition.pointers import join_pointer

_ID: Final = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])",
    re.IGNORECASE,
)
_HINT: Final = (
    "Name what it stands for: a dependency, {{ install.<as>.id }}, or a setting, "
    "{{ install.settings.<name> }}."
)


def find_hard_coded_ids(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Every id that stands in a template, in what is granted or in a setting."""
    for key in ("template", "grants", "hosts", "settings"):
        yield from _find_ids(document.get(key), f"/{key}")


def _find_ids(value: Any, at: str) -> Iterator[Finding]:
    if isinstance(value, str):
        if _ID.search(value):
            yield _build_id_finding(at)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if _ID.search(name):
                yield _build_id_finding(join_pointer(at, name))
            yield from _find_ids(part, join_pointer(at, name))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _find_ids(part, join_pointer(at, number))


def _build_id_finding(at: str) -> Finding:
    detail = "Here stands the id of a thing in one workspace; nobody else has it."
    return Finding(at, detail, "hard_coded_id", _HINT)
