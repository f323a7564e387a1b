"""Mapping a body: one budget for all paths, and only so many at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, LimitExceeded
from mainspring.contracts.limits import Limits
from mainspring.triggers.mapping import MOST_WAITING, SMALL_BYTES, WebhookInputMapper

# One path over it takes a few milliseconds of the fifth of a second that all may take: what is
# refused here is refused for its steps, however slow the machine is.
BODY: dict[str, Any] = {"a": [{"b": number, "c": [1, 2, 3]} for number in range(300)]}
COSTLY = {f"x{number}": f"$..[?@.b > {number} && @.c[0] == {number}]" for number in range(100)}


async def test_all_paths_of_a_mapping_share_one_budget() -> None:
    mapper = WebhookInputMapper(Limits())
    try:
        one = dict([*COSTLY.items()][:1])
        assert len((await mapper.map_inputs(one, BODY, SMALL_BYTES + 1))["x0"]) == 0
        with pytest.raises(Invalid) as refused:
            await mapper.map_inputs(COSTLY, BODY, SMALL_BYTES + 1)
    finally:
        mapper.close()
    assert refused.value.code == "path_too_costly"


async def test_many_paths_to_one_large_value_are_refused_before_they_are_written_out() -> None:
    mapper = WebhookInputMapper(Limits())
    body = {"a": "x" * 100_000}
    try:
        with pytest.raises(Invalid) as refused:
            await mapper.map_inputs(dict.fromkeys("bcdef", "$.a"), body, 100_010)
        assert await mapper.map_inputs({"b": "$.a"}, body, 100_010) == {"b": body["a"]}
    finally:
        mapper.close()
    assert refused.value.code == "payload_too_large"


async def test_more_mappings_than_may_wait_are_refused_with_a_time_to_come_again() -> None:
    mapper = WebhookInputMapper(Limits())
    try:
        waiting = [
            asyncio.ensure_future(mapper.map_inputs({"n": "$.a"}, {"a": 1}, SMALL_BYTES + 1))
            for _ in range(MOST_WAITING + 1)
        ]
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert answers[:-1] == [{"n": 1}] * MOST_WAITING
        refused = answers[-1]
        assert isinstance(refused, LimitExceeded)
        assert refused.retry_after is not None
        assert await mapper.map_inputs({"n": "$.a"}, {"a": 1}, SMALL_BYTES + 1) == {"n": 1}
    finally:
        mapper.close()
