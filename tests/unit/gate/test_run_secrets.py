"""What a run has used stays hidden; stubs and prices are what they say they are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.errors import Finding, InternalError, Invalid
from mainspring.contracts.limits import Limits
from mainspring.gate.budget_reservations import validate_price
from mainspring.gate.pipeline import stub_of
from mainspring.outbound.http_fetch import http_fetch_capability
from mainspring.workspace.redaction import RunSecretMasker, secrets_named_in


async def _never(ctx: Any, arguments: Any) -> None:
    raise AssertionError("nothing is called here")


def _capability(output: dict[str, Any], stub: Any = None) -> Capability:
    hints = Annotations(stub=stub)
    return Capability("x.y", "x", {}, output, _never, annotations=hints)


def test_nothing_is_masked_before_anything_was_used() -> None:
    known, value = RunSecretMasker(), {"text": "value-1"}
    assert known.masked(value) is value


def test_a_value_that_was_replaced_in_mid_run_is_still_hidden() -> None:
    known = RunSecretMasker()
    known.learn({"key": "value-1"})
    known.learn({"key": "value-2"})
    assert known.masked(["value-1", "value-2"]) == ["[secret key as it was]", "[secret key]"]


def test_a_problem_is_masked_in_all_its_sentences() -> None:
    known = RunSecretMasker({"key": "value-1"})
    problem = Invalid(
        "value-1 is bad",
        suggestion="not value-1",
        findings=[Finding("/value-1", "value-1", "bad", "value-1")],
    )
    assert "value-1" not in str(known.hide_in(problem).as_dict())
    assert "value-1" not in str(problem)


def test_every_secret_that_a_definition_names_is_found() -> None:
    document = {"plan": [{"config": {"url": "x{{ secrets.one }}", "n": ["{{secrets.two_2 }}"]}}]}
    assert secrets_named_in(document) == {"one", "two_2"}
    assert secrets_named_in({"plan": []}) == frozenset()


@pytest.mark.parametrize(
    ("capability", "value"),
    [
        (_capability({"examples": [{"a": 1}, {"a": 2}]}), {"a": 1, "kind": "suppressed"}),
        (_capability({}), {"kind": "suppressed"}),
        (_capability({"examples": [[1]]}), [1]),
        (_capability({"properties": {"kind": {}}, "examples": [{"kind": "own"}]}), {"kind": "own"}),
        (
            _capability({"examples": [{"a": 1}]}, lambda given: {"b": given["x"]}),
            {"b": 7, "kind": "suppressed"},
        ),
    ],
)
def test_a_stub_looks_like_an_answer_and_says_that_it_is_none(
    capability: Capability, value: Any
) -> None:
    assert stub_of(capability, {"x": 7}) == value


def test_the_stub_of_a_request_has_nothing_that_looks_fetched() -> None:
    url = "https://api.example.com/x"

    assert stub_of(http_fetch_capability(Limits()), {"url": url, "method": "POST"}) == {
        "ok": True,
        "status": 200,
        "headers": {},
        "text": "",
        "json": None,
        "url": url,
        "kind": "suppressed",
    }


@pytest.mark.parametrize(
    "price", [Decimal("NaN"), Decimal("Infinity"), Decimal(-1), 1.0, None, "1", True]
)
def test_a_price_that_is_no_sum_of_money_is_our_own_mistake(price: Any) -> None:
    with pytest.raises(InternalError):
        validate_price("x.y", price)
