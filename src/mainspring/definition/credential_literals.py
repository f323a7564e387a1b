"""Finds credentials written into a definition as plain text, by the formats of their issuers.

A definition is stored, versioned, exported and displayed; a credential belongs in the vault.
Messages never repeat a text found here: they only show the prefix that identifies its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.definition.strict_json import join_pointer

CODE: Final = "credential_literal"
_MOST_FOUND: Final = 50
# Each pattern has one group, the prefix that may be shown. All of them match in linear time.
_KINDS: Final = (
    ("a Slack token", r"(xox[abeoprs]-)[A-Za-z0-9-]{6,}"),
    ("a Slack app token", r"(xapp-)[A-Za-z0-9-]{6,}"),
    ("an API key", r"(sk-(?:ant-|proj-)?)[A-Za-z0-9_-]{12,}"),
    ("a Stripe key", r"((?:sk|rk)_(?:live|test)_)[A-Za-z0-9]{12,}"),
    ("a GitHub token", r"(gh[oprsu]_)[A-Za-z0-9]{12,}"),
    ("a GitHub token", r"(github_pat_)[A-Za-z0-9_]{12,}"),
    ("a GitLab token", r"(glpat-)[A-Za-z0-9_-]{12,}"),
    ("an AWS access key", r"((?:AKIA|ASIA))[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("a Google API key", r"(AIza)[A-Za-z0-9_-]{30,}"),
    ("a private key", r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)[^{}]*"),
    ("a bearer token", r"((?i:bearer)\s{1,4})(?=[^\s{}]{0,200}[0-9])[A-Za-z0-9._~+/=-]{12,}"),
)
_PATTERNS: Final = tuple(
    (kind, re.compile(rf"(?<![A-Za-z0-9_-]){pattern}")) for kind, pattern in _KINDS
)


def find_credentials(document: Any) -> Iterator[Finding]:
    """Texts in a document that look like credentials, each once, without the text itself."""
    found = 0
    rest: list[tuple[str, Any]] = [("", document)]
    while rest and found < _MOST_FOUND:
        pointer, value = rest.pop()
        if isinstance(value, str):
            kind = _kind(value)
            if kind is not None:
                found += 1
                yield _finding(pointer, *kind)
        elif isinstance(value, Mapping):
            rest += reversed([(join_pointer(pointer, key), entry) for key, entry in value.items()])
        elif isinstance(value, list | tuple):
            rest += reversed(
                [(join_pointer(pointer, place), entry) for place, entry in enumerate(value)]
            )


def mask_credentials(text: str) -> str:
    """The text with everything but the prefix of each credential removed."""
    for _, pattern in _PATTERNS:
        text = pattern.sub(r"\1…", text)
    return text


def mask_finding(finding: Finding) -> Finding:
    """The finding with credentials masked in its texts."""
    way = finding.suggestion
    return replace(
        finding,
        detail=mask_credentials(finding.detail),
        suggestion=None if way is None else mask_credentials(way),
    )


def _kind(text: str) -> tuple[str, str] | None:
    for kind, pattern in _PATTERNS:
        found = pattern.search(text)
        if found is not None:
            return kind, found[1].strip()
    return None


def _finding(pointer: str, kind: str, prefix: str) -> Finding:
    return Finding(
        pointer,
        f"This text looks like {kind} ({prefix}…). A definition is stored and shown as it is, so "
        "a credential in it is not secret.",
        CODE,
        "Store it with `mainspring secrets set NAME` or on the page under Secrets, write "
        "{{ secrets.NAME }} instead, and revoke the one that was written here.",
    )
