"""Which addresses a client may be answered at."""

from __future__ import annotations

from mainspring.workspace.oauth.redirects import (
    Place,
    fault_of,
    is_registered,
    place_of,
    with_answer,
)

GOOD = {
    "https://claude.ai/api/mcp/auth_callback": Place("web", "claude.ai"),
    "https://a.example:8443/cb?x=1": Place("web", "a.example"),
    "http://localhost/callback": Place("loopback", "localhost"),
    "http://127.0.0.1:33418": Place("loopback", "127.0.0.1"),
    "http://[::1]:9/cb": Place("loopback", "[::1]"),
    "cursor://anysphere.cursor-mcp/oauth/callback": Place("app", "cursor"),
    "com.example.app:/callback": Place("app", "com.example.app"),
}


def test_good_addresses_are_known_for_where_they_lead() -> None:
    for uri, place in GOOD.items():
        assert fault_of(uri) is None, uri
        assert place_of(uri) == place
        assert is_registered(uri, [uri])


def test_only_the_port_of_a_loopback_address_is_free() -> None:
    known = ["http://127.0.0.1:1/cb?a=1", "https://a.example/cb", "app://x/cb"]

    assert is_registered("http://127.0.0.1:65000/cb?a=1", known)
    assert is_registered("http://127.0.0.1/cb?a=1", known)
    for other in (
        "http://127.0.0.1:1/cb", "http://127.0.0.1:1/cb?a=2", "http://localhost:1/cb?a=1",
        "http://127.0.0.1:1/CB?a=1", "http://127.0.0.1:99999/cb?a=1", "https://127.0.0.1:1/cb?a=1",
        "http://x@127.0.0.1:1/cb?a=1", "http://127.0.0.1:1/cb?a=1#x", "https://a.example:444/cb",
        "https://a.example/cb/", "https://b.example/cb", "app://y/cb", "app://x/cb?b=1", "",
    ):  # fmt: skip
        assert not is_registered(other, known), other


def test_an_answer_is_added_to_a_query_and_nothing_of_it_is_taken_for_more() -> None:
    answer = {"code": "a&b=c#d", "state": None, "iss": "https://s.example"}

    assert (
        with_answer("app:/cb", answer) == "app:/cb?code=a%26b%3Dc%23d&iss=https%3A%2F%2Fs.example"
    )
    assert (
        with_answer("https://a.example/?x=1", {"error": "no"}) == "https://a.example/?x=1&error=no"
    )
