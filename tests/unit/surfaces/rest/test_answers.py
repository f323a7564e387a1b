"""How values look in an answer."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from mainspring.contracts.capability import Effect
from mainspring.surfaces.rest.request_bodies import JsonAnswer, as_json


class Pair(BaseModel):
    left: int
    right: Decimal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2027, 3, 1, 9, 0, 0, 5, UTC), '"2027-03-01T09:00:00.000005Z"'),
        (datetime(2027, 3, 1, 9, 0, 0, 0, UTC), '"2027-03-01T09:00:00Z"'),
        (UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (Decimal("0.10"), "0.10"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.000000000000000000001"), "0.000000000000000000001"),
        (MappingProxyType({"a": frozenset({2, 1})}), '{"a":[1,2]}'),
        (Pair(left=1, right=Decimal("1.50")), '{"left":1,"right":1.50}'),
        (Effect.READ, '"read"'),
        ("ü\u2028</script>", '"ü\u2028</script>"'),
    ],
)
def test_a_value_is_written_as_it_is(value: Any, text: str) -> None:
    assert as_json(value).decode() == text


def test_what_has_no_form_in_json_is_a_mistake_and_not_a_guess() -> None:
    with pytest.raises(TypeError):
        as_json({"a": object()})


def test_an_answer_is_json() -> None:
    assert JsonAnswer({"a": 1}).body == b'{"a":1}'
    assert JsonAnswer({"a": 1}).headers["Content-Type"] == "application/json"
