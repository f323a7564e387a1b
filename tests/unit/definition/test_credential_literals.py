"""Credentials in plain text are found by their format and never repeated in a message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mainspring.contracts.errors import Finding
from mainspring.definition.secret_use import (
    find_credentials,
    mask_credentials,
    mask_finding,
)

# Joined here, so that no scanner of repositories takes them for real ones.
SECRET = "A1b2C3d4E5f6G7h8I9j0"
LITERALS = [
    "xoxb-" + "1234567890-" + SECRET,
    "xoxp-" + SECRET,
    "sk-" + SECRET,
    "sk-ant-" + SECRET,
    "sk-proj-" + SECRET,
    "ghp_" + SECRET,
    "github_pat_" + SECRET,
    "glpat-" + SECRET,
    "AKIA" + "ABCDEFGH12345678",
    "Bearer " + SECRET,
    "bearer " + SECRET + ".abc.def",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE" + SECRET,
]


@pytest.mark.parametrize("literal", LITERALS)
def test_a_credential_is_found_at_its_place_and_not_repeated(literal: str) -> None:
    document = {"plan": [{"config": {"headers": {"X/Key": f"a {literal} b"}}}]}
    (found,) = find_credentials(document)
    assert found.pointer == "/plan/0/config/headers/X~1Key"
    assert found.code == "credential_literal"
    assert found.suggestion is not None
    hidden = literal[-16:]
    assert hidden not in found.detail + found.suggestion
    assert hidden not in mask_credentials(f"The value '{literal}' is too long.")
    other = Finding("/x", f"{literal} is not one of these.", "enum", f"Not {literal}.")
    assert mask_finding(other) == replace(
        other, detail=mask_credentials(other.detail), suggestion=mask_finding(other).suggestion
    )
    assert hidden not in mask_finding(other).detail + str(mask_finding(other).suggestion)


@pytest.mark.parametrize(
    "text",
    [
        "Bearer {{ secrets.api_key }}",
        "{{ secrets.slack_bot_token }}",
        "task-1234567890123456",
        "Bearer authentication is needed",
        "sk-8",
        "risk-assessment-of-the-quarter",
        "xoxb",
        "the forbearer 1234567890123",
        "AKIAS",
        "sk-{{ inputs.a }}",
    ],
)
def test_ordinary_text_is_not_a_credential(text: str) -> None:
    assert list(find_credentials({"goal": text})) == []
    assert mask_credentials(text) == text


def test_a_hostile_text_takes_no_time() -> None:
    document = {"goal": "Bearer " * 20_000 + "sk-ä" * 40_000 + "-----BEGIN " * 10_000}
    assert list(find_credentials(document)) == []
