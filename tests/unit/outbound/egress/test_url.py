"""A URL has one reading, and what has two is refused."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.outbound.egress.url import (
    MAX_URL,
    canonical_host,
    parse_host_port,
    parse_url,
    percent_encode,
    resolve_location,
    with_query,
)

READ = [
    ("http://example.com", "http://example.com/"),
    ("HTTP://EXAMPLE.COM/A?B#c", "http://example.com/A?B"),
    ("https://example.com:443/", "https://example.com/"),
    ("https://example.com:8443/a", "https://example.com:8443/a"),
    ("http://example.com?x=1", "http://example.com/?x=1"),
    ("http://example.com#top", "http://example.com/"),
    ("http://bücher.example/straße", "http://xn--bcher-kva.example/stra%C3%9Fe"),
    ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
    ("http://my_host.example/", "http://my_host.example/"),
    ("http://8.8.8.8/", "http://8.8.8.8/"),
    ("http://[2606:4700:0:0::1111]:80/", "http://[2606:4700::1111]/"),
    ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
    ("http://example.com/a/../b/./c", "http://example.com/b/c"),
    ("http://example.com/a/%2e%2E/b", "http://example.com/b"),
    ("http://example.com/../../x/..", "http://example.com/"),
    ("http://example.com/..//x", "http://example.com//x"),
    ("http://example.com/a/b/..", "http://example.com/a/"),
    ("http://example.com/a/b/.", "http://example.com/a/b/"),
    ("http://example.com:65535/", "http://example.com:65535/"),
    ('http://example.com/"<>^`{|}', "http://example.com/%22%3C%3E%5E%60%7B%7C%7D"),
    ("http://example.com/50%25?a=%zz", "http://example.com/50%25?a=%zz"),
    ("http://1.2.3.4.example.com/", "http://1.2.3.4.example.com/"),
    ("http://0x7f.example/", "http://0x7f.example/"),
    ("http://example.com//evil.example/", "http://example.com//evil.example/"),
    ("http://example.com/@evil.example", "http://example.com/@evil.example"),
    ("http://example.com/?@evil.example#@x", "http://example.com/?@evil.example"),
]

REFUSED = [
    "",
    "example.com",
    "//example.com/",
    "/path",
    "http:",
    "http:/example.com",
    "http:example.com",
    "http://",
    "http:///path",
    "http://?x",
    "http://#x",
    "http://:80/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "ws://example.com/",
    "javascript://example.com/",
    "data://example.com/",
    "unix://example.com/",
    "http+unix://example.com/",
    "https\t://example.com/",
    " http://example.com/",
    "http://example.com/ ",
    "http://example.com/a b",
    "http://exa mple.com/",
    "http://example.com\\@evil.example/",
    "http:\\\\example.com\\",
    "http://example.com/\r\nHost: evil",
    "http://example.com/\x00",
    "http://example.com/\x85",
    "http://example.com/\u2028",
    "http://example.com\u3000/",
    "http://user@example.com/",
    "http://user:pass@example.com/",
    "http://@example.com/",
    "http://a@b@example.com/",
    "http://example.com%2fevil/",
    "http://%65xample.com/",
    "http://example.com:/",
    "http://example.com:0/",
    "http://example.com:00080/",
    "http://example.com:65536/",
    "http://example.com:+80/",
    "http://example.com:-1/",
    "http://example.com:8o/",
    "http://example.com:80:80/",
    "http://example.com:٨٠/",
    "http://example.com./",
    "http://example.com../",
    "http://.example.com/",
    "http://example..com/",
    "http://./",
    "http://-example.com/",
    "http://example-.com/",
    "http://exa*mple.com/",
    "http://exa$mple.com/",
    "http://exa,mple.com/",
    "http://exa;mple.com/",
    "http://exa'mple.com/",
    "http://" + "a" * 64 + ".example/",
    "http://" + ".".join(["a" * 60] * 5) + "/",
    "http://xn--a.example/",
    "http://xn--ls8h.example/",
    "http://ｅxample.com/",
    "http://example。com/",
    "http://ｅｘａｍｐｌｅ．ｃｏｍ/",
    "http://\u212aelvin.example/",
    "http://exa\u00admple.com/",
    "http://exa\u200bmple.com/",
    "http://\ud800.example/",
    "http://example.com/\ud800",
    "http://[::1/",
    "http://::1/",
    "http://::1]/",
    "http://[]/",
    "http://[::1]x/",
    "http://[::1]:x/",
    "http://x[::1]/",
    "http://[::g]/",
    "http://[1.2.3.4]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[v1.x]/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://0X7F000001/",
    "http://017700000001/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://127.0.0.01/",
    "http://127.0.0.1./",
    "http://127.0.0.256/",
    "http://1.2.3.4.5/",
    "http://0x/",
    "http://0x.0x.0/",
    "http://0/",
    "http://example.0/",
    "http://example.0x1f/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
]


@pytest.mark.parametrize(("written", "url"), READ)
def test_a_url_is_read_into_its_one_spelling(written: str, url: str) -> None:
    assert parse_url(written).url == url


@pytest.mark.parametrize(("written", "url"), READ)
def test_reading_the_one_spelling_again_changes_nothing(written: str, url: str) -> None:
    del written
    assert parse_url(url).url == url


@pytest.mark.parametrize("written", REFUSED)
def test_a_url_with_two_readings_is_refused(written: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_url(written)

    assert caught.value.code == "bad_url"


def test_a_url_has_a_greatest_length() -> None:
    start = "http://example.com/"
    parse_url(start + "a" * (MAX_URL - len(start)))

    with pytest.raises(Invalid):
        parse_url(start + "a" * (MAX_URL - len(start) + 1))


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("https://other.example/x", "https://other.example/x"),
        ("//other.example/x", "https://other.example/x"),
        ("/x", "https://example.com/x"),
        ("x", "https://example.com/a/x"),
        ("../x", "https://example.com/x"),
        ("../../../x", "https://example.com/x"),
        ("?y=2", "https://example.com/a/b?y=2"),
        ("#z", "https://example.com/a/b?q=1"),
        ("", "https://example.com/a/b?q=1"),
        ("x?u=http://evil.example/", "https://example.com/a/x?u=http://evil.example/"),
        ("/ü", "https://example.com/%C3%BC"),
    ],
)
def test_a_redirect_is_seen_from_the_address_before_it(location: str, url: str) -> None:
    assert resolve_location(parse_url("https://example.com/a/b?q=1"), location).url == url


@pytest.mark.parametrize(
    "location",
    [
        "///evil.example/",
        "\\\\evil.example/",
        "/\\evil.example/",
        "https:evil.example",
        "https:/evil.example",
        "javascript:alert(1)",
        "x y",
        "/x\ty",
        "//user@evil.example/",
        "//[::1/",
        "/" + "a" * MAX_URL,
    ],
)
def test_a_redirect_with_two_readings_is_refused(location: str) -> None:
    with pytest.raises(Invalid):
        resolve_location(parse_url("https://example.com/a/b"), location)


@pytest.mark.parametrize(
    ("url", "added"),
    [
        ("http://example.com", "http://example.com/?a=1&b=2"),
        ("http://example.com/?x", "http://example.com/?x&a=1&b=2"),
        ("http://example.com/?", "http://example.com/?a=1&b=2"),
        ("http://example.com/?x&", "http://example.com/?x&a=1&b=2"),
    ],
)
def test_a_query_is_added_to_the_one_that_is_there(url: str, added: str) -> None:
    assert with_query(parse_url(url), [("a", "1"), ("b", "2")]).url == added


@pytest.mark.parametrize(
    ("entry", "read"),
    [
        ("Example.com", ("example.com", None)),
        ("example.com:8080", ("example.com", 8080)),
        ("bücher.example", ("xn--bcher-kva.example", None)),
        ("[0:0::1]:80", ("[::1]", 80)),
        ("127.0.0.1", ("127.0.0.1", None)),
    ],
)
def test_a_listed_host_has_the_same_spelling_as_in_a_url(
    entry: str, read: tuple[str, int | None]
) -> None:
    assert parse_host_port(entry) == read


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.example.com", "http://example.com", "a/b", "a b", "u@a", "a:", "a:0", "::1"],
)
def test_a_listed_host_is_a_host_and_nothing_more(entry: str) -> None:
    with pytest.raises(Invalid):
        parse_host_port(entry)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http:///path", "names no host"),
        ("http://:80/", "names no host"),
        ("http://example.com./", "ends in a dot"),
        ("example.com", "must begin with http"),
        ("ftp://example.com/", "Only http and https"),
        ("http://user@example.com/", "user name or password"),
        ("http://%65xample.com/", "percent-encoded"),
        ("http://[::1/", "opens a bracket"),
        ("http://[::g]/", "not a valid IPv6 address"),
        ("http://127.1/", "not a plain IPv4 address"),
        ("http://example.com:65536/", "from 1 to 65535"),
        ("http://exa*mple.com/", "no host name has"),
        ("http://xn--a.example/", "not a valid international name"),
        ("http://example.com/a b", "a space"),
        ("http://example.com/\ud800", "not valid Unicode"),
    ],
)
def test_a_refusal_says_what_is_wrong(url: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        parse_url(url)


@pytest.mark.parametrize("entry", ["a b", "a.example/x", "a?b", "a#b", "user@a.example", "a%62"])
def test_an_entry_of_a_list_is_a_host_and_nothing_more(entry: str) -> None:
    with pytest.raises(Invalid, match="a host or host:port, nothing more"):
        parse_host_port(entry)


@pytest.mark.parametrize("host", ["[fe80::1%eth0]", "[::12", "[]"])
def test_an_address_with_a_zone_or_half_a_bracket_is_no_host(host: str) -> None:
    with pytest.raises(Invalid, match="not a valid IPv6 address"):
        canonical_host(host)


def test_the_longest_name_is_a_host_and_a_longer_one_is_not() -> None:
    name = ".".join(["a" * 63, "a" * 63, "a" * 63, "a" * 61])
    assert len(name) == 253
    assert parse_url(f"http://{name}/").host == name
    with pytest.raises(Invalid, match="too long"):
        parse_url(f"http://{name}a/")


def test_sizes_are_exact() -> None:
    base = parse_url("https://example.com/a/b")
    parse_url("http://example.com/" + "a" * (8_192 - 19))
    with pytest.raises(Invalid, match="longer than 8192"):
        parse_url("http://example.com/" + "a" * (8_192 - 18))
    resolve_location(base, "/" + "a" * 8_191)
    with pytest.raises(Invalid, match="longer than 8192"):
        resolve_location(base, "/" + "a" * 8_192)
    # The path, a question mark, a name and an equals sign.
    before = len(base.path) + 3
    assert len(with_query(base, [("q", "a" * (65_536 - before))]).path) == 65_536
    with pytest.raises(Invalid, match="longer than 65536"):
        with_query(base, [("q", "a" * (65_536 - before + 1))])


def test_no_query_leaves_the_target_as_it_is() -> None:
    base = parse_url("https://example.com:8443/a?b=c")
    assert with_query(base, []) == base
    assert base.origin == ("https", "example.com", 8443)


def test_a_value_for_a_url_is_encoded_whole() -> None:
    assert percent_encode("a/b?c&d ä") == "a%2Fb%3Fc%26d%20%C3%A4"
    with pytest.raises(Invalid, match="not valid Unicode"):
        percent_encode("\ud800")
