"""What may be shown of a secret is its name, in whatever spelling it comes back."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from types import MappingProxyType
from urllib.parse import quote, quote_plus

import pytest

from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.workspace.redaction import HIDDEN, Redactor, is_sensitive, redact_arguments

VALUES = [
    "abcd",
    "sk-live-0123456789abcdef",
    "p@ss/wörd+&=?\"'<x>",
    "line one\nline two\r\nline three",
    "^(a+)+$.*[x]{2}",
    '{"type": "account", "key": "-----BEGIN\\n"}',
    "ключ-доступа",
    "x" * 8_192,
]
MASK = "[secret key]"


def _hidden(value: str, text: str) -> str:
    masked = Redactor({"key": value}).text(text)
    assert MASK in masked
    return masked


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "spell",
    [
        lambda value: value,
        lambda value: value[::-1],
        lambda value: json.dumps(value)[1:-1],
        lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape,
        lambda value: quote(value, safe=""),
        quote,
        quote_plus,
        lambda value: re.sub("%..", lambda escape: escape[0].lower(), quote(value, safe="")),
        lambda value: value.encode().hex(),
        lambda value: value.encode().hex().upper(),
        lambda value: "".join(f"%{byte:02X}" for byte in value.encode()),
    ],
)
def test_every_spelling_of_a_value_is_masked(value: str, spell: object) -> None:
    assert callable(spell)
    spelled = spell(value)

    assert _hidden(value, f"before {spelled} after") == f"before {MASK} after"


@pytest.mark.parametrize("value", VALUES[1:])
@pytest.mark.parametrize("case", [str.upper, str.lower, str.casefold])
def test_a_long_value_in_other_letters_is_masked(value: str, case: Callable[[str], str]) -> None:
    changed = case(value)
    for spell in (str, html.escape, json.dumps, quote, quote_plus):
        masked = _hidden(value, f"before {spell(changed)} after")
        assert changed not in masked
    assert Redactor({"key": "Abcdefg"}).text("abcdefg") == "abcdefg"


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("after", ["", "!", "..", "..."])
def test_a_value_inside_base64_is_masked_wherever_it_begins(
    value: str, before: str, after: str
) -> None:
    data = f"{before}{value}{after}".encode()

    for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        masked = _hidden(value, encoded.decode())
        # At most the characters shared with an adjacent value are left on either side.
        assert len(masked) - len(MASK) <= 12 + len(before) * 2 + len(after) * 2


@pytest.mark.parametrize("value", VALUES)
def test_base64_of_base64_is_masked(value: str) -> None:
    once = base64.b64encode(value.encode())

    for prefix in (b"", b"x", b"xy"):
        masked = _hidden(value, base64.b64encode(prefix + once).decode())
        assert base64.b64encode(once).decode()[4:-4] not in masked


def test_bytes_in_utf_16_are_masked() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        assert "abcdefgh".encode(encoding) not in Redactor({"key": "abcdefgh"}).data(
            "x abcdefgh y".encode(encoding)
        )


def test_a_value_under_four_characters_is_not_looked_for() -> None:
    redactor = Redactor({"pin": "123", "empty": ""})

    assert redactor.text("123 and 0123") == "123 and 0123"
    assert redactor.tree({"a": "123"}) == {"a": "123"}
    assert not redactor.found_in("123")


def test_each_value_is_masked_by_its_own_name() -> None:
    redactor = Redactor({"one": "aaaa-bbbb", "two": "bbbb-cccc"})

    assert redactor.text("aaaa-bbbb, bbbb-cccc") == "[secret one], [secret two]"


def test_a_value_that_contains_another_is_masked_first() -> None:
    redactor = Redactor({"short": "pass", "long": "passphrase"})

    assert redactor.text("passphrase pass") == "[secret long] [secret short]"


def test_a_tree_is_masked_in_keys_and_values_and_keeps_its_types() -> None:
    tree = {"a": ["abcd", 1, 1.5, True, None], "abcd": {"b": "xabcdx"}}

    assert Redactor({"key": "abcd"}).tree(tree) == {
        "a": [MASK, 1, 1.5, True, None],
        MASK: {"b": f"x{MASK}x"},
    }


@pytest.mark.parametrize("text", ["", "ordinary", "abc d", "lone \ud800 half"])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert Redactor({"key": "abcd"}).text(text) == text


def test_arguments_show_secrets_by_name_and_hide_what_is_sensitive() -> None:
    arguments = {
        "url": SecretText(("https://a.example/", SecretRef("key"))),
        "headers": {
            "Authorization": "Bearer plain",
            "X-API-Key": SecretText((SecretRef("key"),)),
            "cookie": "a=1",
            "Accept": "*/*",
        },
        "query": {"api_key": "plain", "page": "2"},
        "json": {"list": [{"password": "p"}, {"name": "n"}], "token_count": 3, "secret": None},
    }

    assert redact_arguments(arguments) == {
        "url": "https://a.example/[secret key]",
        "headers": {
            "Authorization": HIDDEN,
            "X-API-Key": MASK,
            "cookie": HIDDEN,
            "Accept": "*/*",
        },
        "query": {"api_key": HIDDEN, "page": "2"},
        "json": {
            "list": [{"password": HIDDEN}, {"name": "n"}],
            "token_count": 3,
            "secret": None,
        },
    }


@pytest.mark.parametrize(
    "name", ["authorization", "AUTHORIZATION", " Cookie ", "Set-Cookie", "x_api_key", "Password"]
)
def test_sensitive_names_are_known_in_any_spelling(name: str) -> None:
    assert is_sensitive(name)


@pytest.mark.parametrize("name", ["accept", "content-type", "key", "author", "x-request-id", ""])
def test_ordinary_names_are_not_sensitive(name: str) -> None:
    assert not is_sensitive(name)


# Written out, so that no name gets lost.
SENSITIVE = [
    "access-token",
    "api-key",
    "apikey",
    "authorization",
    "client-secret",
    "cookie",
    "cookie2",
    "passwd",
    "password",
    "private-token",
    "proxy-authorization",
    "refresh-token",
    "secret",
    "set-cookie",
    "x-access-token",
    "x-amz-security-token",
    "x-api-key",
    "x-apikey",
    "x-auth-key",
    "x-auth-token",
    "x-csrf-token",
    "x-gitlab-token",
    "x-goog-api-key",
    "x-hub-signature",
    "x-hub-signature-256",
    "x-shopify-access-token",
    "x-vault-token",
    "x-xsrf-token",
]


@pytest.mark.parametrize("name", SENSITIVE)
def test_what_has_a_sensitive_name_is_hidden_from_records(name: str) -> None:
    spelt = name.replace("-", "_").upper()
    given = {name: "plain", spelt: 5, "other": {name: ["plain", None, SecretRef("key")]}}
    assert redact_arguments(given) == {
        name: HIDDEN,
        spelt: HIDDEN,
        "other": {name: [HIDDEN, None, MASK]},
    }


@pytest.mark.parametrize("value", [b"bytes", {"set"}, 1.5, True, 0])
def test_a_sensitive_value_of_any_type_is_hidden(value: object) -> None:
    assert redact_arguments({"password": value, "page": value}) == {
        "password": HIDDEN,
        "page": value,
    }


def test_a_tuple_is_masked_as_a_list_and_a_mapping_of_any_type_as_a_dict() -> None:
    tree = {"a": ("abcd", MappingProxyType({"abcd": "x"}))}
    assert Redactor({"key": "abcd"}).tree(tree) == {"a": [MASK, {MASK: "x"}]}


def test_a_tree_without_a_secret_is_the_same_object() -> None:
    tree = {"a": ["other"]}
    assert Redactor({"key": "abcd"}).tree(tree) is tree
    assert Redactor({}).tree(tree) is tree
    assert Redactor({}).text("other") == "other"


def test_a_value_of_four_characters_is_looked_for_and_one_of_eight_in_capitals_too() -> None:
    assert Redactor({"key": "abcd"}).found_in("xabcdx")
    assert not Redactor({"key": "abcd"}).found_in("xabcx")
    assert Redactor({"key": "abcdefgh"}).text("ABCDEFGH") == MASK
    assert Redactor({"key": "abcdefg"}).text("ABCDEFG") == "ABCDEFG"


def test_json_inside_json_and_an_escaped_slash_are_masked() -> None:
    value = 'a"b/c"d/ö'
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)
        twice = json.dumps(once, ensure_ascii=ascii_only)
        for text in (once, once.replace("/", "\\/"), twice):
            masked = _hidden(value, text)
            assert "b/c" not in masked
            assert "b\\/c" not in masked


@pytest.mark.parametrize(
    ("tree", "masked"),
    [
        ({"a": "abcd"}, {"a": MASK}),
        ({"abcd": 1}, {MASK: 1}),
        ([["abcd"]], [[MASK]]),
        ({"a": {"b": ("x", "abcd")}}, {"a": {"b": ["x", MASK]}}),
        ("abcd", MASK),
    ],
)
def test_a_value_is_found_wherever_in_a_tree_it_is(tree: object, masked: object) -> None:
    assert Redactor({"key": "abcd"}).tree(tree) == masked


def test_what_is_hidden_says_so() -> None:
    assert redact_arguments({"password": "p"}) == {"password": "[hidden]"}


def test_all_signs_of_base64_that_only_the_value_decides_are_masked() -> None:
    redactor = Redactor({"key": "abcdef"})
    assert redactor.text(base64.b64encode(b"abcdef").decode()) == MASK
    # Of the characters that an adjacent value shares, one is left on each side.
    text = base64.b64encode(b"u" + b"abcdef").decode()
    assert redactor.text(text) == text[:2] + MASK + text[9:]
    text = base64.b64encode(b"us" + b"abcdef").decode()
    assert redactor.text(text) == text[:3] + MASK + text[10:]
