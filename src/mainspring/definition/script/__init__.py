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

from mainspring.definition.script.findings import (
    KV,
    derive_grants,
    find_script_problems,
    read_script_grants,
)
from mainspring.definition.script.parser import (
    LONGEST,
    Script,
    ScriptCapabilityCall,
    ScriptImport,
    ScriptSyntaxFinding,
    SecretPlaceholder,
    read_script,
)
from mainspring.definition.script.rewrite import HEAD, mark_of, rewrite_script
from mainspring.definition.script.sdk_names import is_sdk
from mainspring.definition.script.syntax import SourceLocation

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
