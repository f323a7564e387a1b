"""Which addresses a client may be answered at."""

from __future__ import annotations

from mainspring.workspace.oauth.clients import (
    RedirectTarget,
    add_query,
    describe_redirect,
    find_redirect_fault,
    is_registered,
    share_one_host,
)

GOOD = {
    "https://claude.ai/api/mcp/auth_callback": RedirectTarget("web", "claude.ai"),
    "https://a.example:8443/cb?x=1": RedirectTarget("web", "a.example"),
    "http://localhost/callback": RedirectTarget("loopback", "localhost"),
    "http://127.0.0.1:33418": RedirectTarget("loopback", "127.0.0.1"),
    "http://[::1]:9/cb": RedirectTarget("loopback", "[::1]"),
    "cursor://anysphere.cursor-mcp/oauth/callback": RedirectTarget("app", "cursor"),
    "com.example.app:/callback": RedirectTarget("app", "com.example.app"),
    "vscode-insiders://a/b": RedirectTarget("app", "vscode-insiders"),
    "https://203.0.113.7/cb": RedirectTarget("web", "203.0.113.7"),
    "https://[2001:db8::1]:8443/cb": RedirectTarget("web", "[2001:db8::1]"),
    # With https, too, the visitor's own machine is no place on the web.
    "https://localhost/cb": RedirectTarget("loopback", "localhost"),
    "https://app.localhost/cb": RedirectTarget("loopback", "app.localhost"),
    "https://127.8.9.1:8443/cb": RedirectTarget("loopback", "127.8.9.1"),
    "https://0.0.0.0/cb": RedirectTarget("loopback", "0.0.0.0"),
    "https://[0:0:0:0:0:0:0:1]/cb": RedirectTarget("loopback", "[0:0:0:0:0:0:0:1]"),
    "https://[::ffff:127.0.0.1]/cb": RedirectTarget("loopback", "[::ffff:127.0.0.1]"),
}
BAD = (
    "https://a..b/",
    "https://.a.example/",
    "https://a.example./",
    "https://good.com:/",
    "https://good.com:/cb",
    "https://-a.example/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://a.0x1/",
    "https://[::1/",
    "https://[a]/",
    "http://127.1/cb",
    "app://x/cb",
    "search-ms:/query",
    "ms-settings:/x",
    "mailto:/a",
    "javascript:/alert(1)",
    "view-source:/x",
    "vscode",
    "com.example.app:callback",
)


def test_good_addresses_are_known_for_where_they_lead() -> None:
    for uri, place in GOOD.items():
        assert find_redirect_fault(uri) is None, uri
        assert describe_redirect(uri) == place
        assert is_registered(uri, [uri])


def test_addresses_that_a_browser_reads_otherwise_or_acts_on_itself_are_refused() -> None:
    for uri in BAD:
        assert find_redirect_fault(uri) is not None, uri


def test_the_addresses_of_one_client_on_the_web_are_of_one_site() -> None:
    other = ["http://localhost/cb", "com.example.app:/cb"]

    assert share_one_host(other)
    assert share_one_host(["https://a.example/1", "https://a.example:8443/2", *other])
    assert share_one_host(["https://insiders.a.example/1", "https://a.example/2"])
    for others in (
        ["https://a.example/", "https://b.example/"],
        ["https://a.example/", "https://xa.example/"],
        ["https://1.a.example/", "https://2.a.example/"],
        ["https://com/", "https://a.com/"],
    ):
        assert not share_one_host([*other, *others]), others


def test_only_the_port_of_a_loopback_address_is_free() -> None:
    known = ["http://127.0.0.1:1/cb?a=1", "https://a.example/cb", "app://x/cb"]

    assert is_registered("http://127.0.0.1:65000/cb?a=1", known)
    assert is_registered("http://127.0.0.1/cb?a=1", known)
    for other in (
        "http://127.0.0.1:1/cb",
        "http://127.0.0.1:1/cb?a=2",
        "http://localhost:1/cb?a=1",
        "http://127.0.0.1:1/CB?a=1",
        "http://127.0.0.1:99999/cb?a=1",
        "https://127.0.0.1:1/cb?a=1",
        "http://x@127.0.0.1:1/cb?a=1",
        "http://127.0.0.1:1/cb?a=1#x",
        "https://a.example:444/cb",
        "https://a.example/cb/",
        "https://b.example/cb",
        "app://y/cb",
        "app://x/cb?b=1",
        "",
    ):
        assert not is_registered(other, known), other


def test_an_answer_is_added_to_a_query_and_nothing_of_it_is_taken_for_more() -> None:
    answer = {"code": "a&b=c#d", "state": None, "iss": "https://s.example"}

    assert add_query("app:/cb", answer) == "app:/cb?code=a%26b%3Dc%23d&iss=https%3A%2F%2Fs.example"
    assert add_query("https://a.example/?x=1", {"error": "no"}) == "https://a.example/?x=1&error=no"
