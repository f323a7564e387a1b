"""Scripts: one TypeScript file, read without being run.

``syntax`` turns the text into a tree within bounds, ``names`` knows what a script calls the
SDK, ``literals`` reads its texts, and ``reading`` puts together what the other rooms ask
for. On that stand ``findings`` (what is wrong with a script), ``grants`` (what it needs)
and ``weaving`` (the same file, ready to run).

Reading is for honest scripts: it tells their authors early what would fail later. A script
that hides what it does from the reader gains nothing, because the sandbox lets it ask the
gate and nobody else, and the gate judges every call for itself.
"""

from __future__ import annotations

from mainspring.definition.script.findings import script_findings
from mainspring.definition.script.grants import KV, derived_grants, grants_of_script
from mainspring.definition.script.places import Place
from mainspring.definition.script.reading import (
    LONGEST,
    Call,
    Fault,
    Import,
    Placeholder,
    Script,
    read_script,
)
from mainspring.definition.script.sdk import is_sdk
from mainspring.definition.script.weaving import HEAD, mark_of, woven

__all__ = [
    "HEAD",
    "KV",
    "LONGEST",
    "Call",
    "Fault",
    "Import",
    "Place",
    "Placeholder",
    "Script",
    "derived_grants",
    "grants_of_script",
    "is_sdk",
    "mark_of",
    "read_script",
    "script_findings",
    "woven",
]
