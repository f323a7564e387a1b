"""The address of a server elsewhere: what is taken, and what would give a token away."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli.mcp import read_url


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("http://127.0.0.1:8420", "http://127.0.0.1:8420/mcp"),
        ("http://127.0.0.1:8420/", "http://127.0.0.1:8420/mcp"),
        ("https://spring.example/mcp", "https://spring.example/mcp"),
        ("https://spring.example/inside/mcp/", "https://spring.example/inside/mcp"),
        ("http://[::1]:8420", "http://[::1]:8420/mcp"),
    ],
)
def test_the_path_may_be_left_out(given: str, read: str) -> None:
    assert read_url(given) == read


@pytest.mark.parametrize(
    "given",
    [
        "",
        "nonsense",
        "ftp://x",
        "http://",
        "http://x:port",
        "http://x:0",
        "file:///etc/passwd",
        "http://user:pass@host",
        "http://msk_token@host",
        "http://host/mcp?token=x",
        "http://host/mcp#token",
    ],
)
def test_what_is_no_address_or_holds_a_token_is_refused(given: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_url(given)

    assert caught.value.code == "bad_url"
    assert caught.value.suggestion
