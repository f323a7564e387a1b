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

from mainspring.definition.script.findings import find_script_problems
from mainspring.definition.script.grants import KV, derive_grants, read_script_grants
from mainspring.definition.script.places import SourceLocation
from mainspring.definition.script.reading import (
    LONGEST,
    Script,
    ScriptCapabilityCall,
    ScriptImport,
    ScriptSyntaxFinding,
    SecretPlaceholder,
    read_script,
)
from mainspring.definition.script.sdk import is_sdk
from mainspring.definition.script.weaving import HEAD, mark_of, rewrite_script

__all__ = [
    "HEAD",
    "KV",
    "LONGEST",
    "Script",
    "ScriptCapabilityCall",
    "ScriptImport",
    "ScriptSyntaxFinding",
    "SecretPlaceholder",
    "SourceLocation",
    "derive_grants",
    "find_script_problems",
    "is_sdk",
    "mark_of",
    "read_script",
    "read_script_grants",
    "rewrite_script",
]
