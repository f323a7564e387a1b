"""Static analysis of scripts: one TypeScript file, parsed without being run.

``syntax`` parses the text to a tree within limits and reads literals, ``sdk_names`` finds the names
of the SDK, and ``parser`` collects imports, calls and placeholders. ``findings`` reports what is
wrong with a script and derives its grants, ``rewrite`` prepares the file for execution, and
``object_literal`` reads data files.

The analysis serves honest authors: it reports early what would fail later. A script that hides what
it does gains nothing, because the sandbox only lets it call the gate, and the gate checks every
call.
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
