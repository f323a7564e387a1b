"""Untrusted JSON as rows: which parts, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.addresses import get_host, normalize_address
from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.integrations.http_json.adapters import build_rows, check_params, normalize_ref

ANSWER: dict[str, Any] = {
    "data": {"items": [{"id": 1, "user": {"login": "ada"}, "n": [5, 6]}, {"id": 2}, "odd"]}
}


def _pointers(problem: pytest.ExceptionInfo[Invalid]) -> list[str]:
    return [one.pointer for one in problem.value.findings]


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"items": "data.items"}, "/items"),
        ({"items": "$.data["}, "/items"),
        ({"items": "$..*..*"}, "/items"),
        ({"items": "$[?@.a == $.b]"}, "/items"),
        ({"items": "$[?search(@.a, '(a+)+$')]"}, "/items"),
        ({"columns": {"a/b": "$["}}, "/columns/a~1b"),
        ({"columns": {"who": "user login"}}, "/columns/who"),
    ],
)
def test_a_path_that_cannot_be_followed_is_refused_at_its_place(
    params: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        check_params(params)

    assert _pointers(refused) == [pointer]


def test_rows_are_the_items_with_the_columns_that_are_asked_for() -> None:
    columns = {"key": "id", "who": "user.login", "first": "$.n[0]", "second": "n.1"}

    rows = build_rows(ANSWER, {"items": "$.data.items[*]", "columns": columns})

    assert rows[0] == {"key": 1, "who": "ada", "first": 5, "second": 6}
    assert rows[1] == {"key": 2, "who": None, "first": None, "second": None}
    # A path to the list itself means what is in it; what is no object is a value.
    assert build_rows(ANSWER, {"items": "$.data.items"})[2] == {"value": "odd"}
    assert build_rows([{"a": 1}], {}) == [{"a": 1}]
    assert build_rows({"a": [{"b": 1}, {"b": 2}]}, {"items": "$.a[?@.b > 1]"}) == [{"b": 2}]


def test_an_answer_without_a_list_says_what_to_give() -> None:
    with pytest.raises(UpstreamError) as refused:
        build_rows({"data": []}, {})

    assert "items" in str(refused.value.suggestion)
    with pytest.raises(UpstreamError, match="10,001"):
        build_rows([0] * 10_001, {})


def test_a_reference_has_one_spelling_and_no_secret() -> None:
    given = {"url": "HTTPS://Example.COM:443/a?b=c#d", "method": "GET", "headers": {}}

    assert normalize_ref(given) == {"url": "https://example.com/a?b=c"}
    assert get_host("https://example.com/a") == "example.com:443"
    assert get_host("http://[::1]:8080/") == "[::1]:8080"
    with pytest.raises(Invalid) as refused:
        normalize_ref({"url": "https://example.com", "headers": {"X-Api-Key": "k", "Accept": "x"}})
    assert _pointers(refused) == ["/headers/X-Api-Key"]


@pytest.mark.parametrize(
    "url", ["https://a:b@example.com/", "https:///x", "https://e.com/ x", "http://e.com:99999/"]
)
def test_an_address_that_can_be_read_two_ways_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        normalize_address(url)

    assert _pointers(refused) == ["/url"]
