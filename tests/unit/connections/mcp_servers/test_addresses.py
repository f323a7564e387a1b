"""The address of a server of tools is shown to everybody: no key is in it."""

from __future__ import annotations

import pytest

from mainspring.connections.mcp_servers.service import validate_server_url
from mainspring.contracts.errors import Invalid

KEY = "Zx-4711-key"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (f"https://tools.example/mcp?api_key={KEY}", "key_in_url"),
        (f"https://tools.example/mcp?page=1&Access-Token={KEY}", "key_in_url"),
        (f"https://tools.example/mcp?t%6fken={KEY}", "key_in_url"),
        (f"https://tools.example/mcp?key={KEY}", "key_in_url"),
        (f"https://tools.example/mcp?apiKey={KEY}", "key_in_url"),
        (f"https://me:{KEY}@tools.example/mcp", "bad_url"),
        (f"https://{KEY}@tools.example/mcp", "bad_url"),
    ],
)
def test_a_key_in_an_address_is_refused_and_not_repeated(url: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        validate_server_url(url)

    finding = refused.value.findings[0]
    assert (refused.value.code, finding.pointer, finding.code) == (code, "/server_url", code)
    assert KEY not in str(refused.value.as_dict())


def test_a_person_is_informed_where_a_key_belongs() -> None:
    with pytest.raises(Invalid) as refused:
        validate_server_url(f"https://tools.example/mcp?token={KEY}")

    assert "as the token" in str(refused.value.suggestion)


def test_an_address_may_say_other_things() -> None:
    for url in ("https://tools.example/mcp?project=7&keyboard=de", "https://tools.example/mcp?a"):
        assert validate_server_url(url) == url
