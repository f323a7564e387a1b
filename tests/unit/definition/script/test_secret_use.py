"""The secrets that a script spells are known to all who ask what a definition uses."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import SecretUsage, find_script_secrets, find_secret_uses
from mainspring.workspace.automation_resources import check_not_widened
from mainspring.workspace.redaction import secrets_named_in
from tests.unit.definition.script.examples import REVENUE

LIMITS = Limits()


def _script(source: Any, **more: Any) -> dict[str, Any]:
    return {"action": "script", "config": {"source": source, **more}}


def _plan(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"plan": list(steps)}


def _sends(url: str) -> dict[str, Any]:
    return _plan(_script(f"brains.http_fetch({{ url: {url}, headers: {{ a: '{{{{key}}}}' }} }})"))


def test_a_script_uses_its_secrets_where_its_requests_go() -> None:
    found = find_secret_uses(_plan({"action": "other", "config": {}}, _script(REVENUE)), LIMITS)

    assert found == (
        SecretUsage(
            "stripe_api_key", "/plan/1/config/source", "http_fetch", "api.stripe.com:443", "headers"
        ),
    )


def test_a_secret_is_reported_once_for_each_way_it_goes() -> None:
    source = """
        brains.http_fetch({ url: "https://a.com/{{key}}", headers: { a: "{{key}}" } });
        brains.http_fetch({ url: "https://a.com/{{key}}" });
        brains.http_fetch({ url, query: { a: "{{ secrets.other }}" } });
    """

    found = find_secret_uses(_plan(_script(source)), LIMITS)

    assert [(use.secret, use.site, use.part) for use in found] == [
        ("key", "a.com:443", "url"),
        ("key", "a.com:443", "headers"),
        ("other", "", "query"),
    ]


def test_what_is_rendered_for_a_script_is_read_as_a_template() -> None:
    (found,) = find_secret_uses(
        _plan(_script("return 1", input={"a": "{{ secrets.key }}"})), LIMITS
    )

    assert (found.secret, found.pointer) == ("key", "/plan/0/config/input/a")


def test_a_script_inside_of_another_step_and_after_a_failure_is_found() -> None:
    source = "brains.http_fetch({ url: 'https://a.com/{{key}}' })"
    nested = {"action": "for_each", "config": {"steps": [_script(source)]}}
    document = {**_plan(nested), "execution": {"on_failure": [_script(source)]}}

    assert [use.pointer for use in find_secret_uses(document, LIMITS)] == [
        "/plan/0/config/steps/0/config/source",
        "/execution/on_failure/0/config/source",
    ]
    assert find_script_secrets(document) == {"key"}


def test_every_name_that_a_script_spells_is_masked() -> None:
    document = _plan(_script("brains.http_fetch({ url, headers: { a: '{{one}}{{ two }}' } })"))
    document["inputs"] = "{{ secrets.three }}"

    assert secrets_named_in(document) == {"one", "two", "three"}
    assert find_script_secrets(document) == {"one", "two"}


@pytest.mark.parametrize("source", [None, 1, ["{{key}}"], "const = '{{key", "// {{key}}"])
def test_what_spells_no_secret_uses_none(source: Any) -> None:
    document = _plan(_script(source))

    assert find_secret_uses(document, LIMITS) == ()
    assert secrets_named_in(document) == frozenset()


def test_the_same_words_in_another_action_are_no_script() -> None:
    document = _plan({"action": "note", "config": {"source": "'{{key}}'"}})

    assert secrets_named_in(document) == frozenset()


@pytest.mark.parametrize("url", ["'https://b.com/'", "url", "`https://${host}/`"])
def test_somebody_else_cannot_send_the_owners_secret_to_another_site(url: str) -> None:
    before = _sends("'https://a.com/x'")

    with pytest.raises(PermissionDenied) as caught:
        check_not_widened(before, _sends(url), [])

    assert [one.pointer for one in caught.value.findings] == ["/plan/0/config/source"]


def test_somebody_else_may_change_the_rest_of_a_script() -> None:
    check_not_widened(_sends("'https://a.com/x'"), _sends("`https://a.com/y/${id}`"), [])


def test_a_request_may_move_from_a_step_into_a_script() -> None:
    step = {
        "action": "http_fetch",
        "config": {"url": "https://a.com/", "headers": {"a": "{{ secrets.key }}"}},
    }

    check_not_widened(_plan(step), _sends("'https://a.com/'"), [])
