"""What a model can take, reckoned before it is asked, and the caps it is held against."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest

from mainspring.contracts.errors import Clash
from mainspring.contracts.model import ModelMessage, ModelRequest, NoModels, Price
from mainspring.gate.budget import Purse
from mainspring.gate.llm_complete import request_of
from mainspring.gate.usage_meter import reads_at_most


def _reads(*texts: str, system: str | None = None) -> int:
    messages = tuple(ModelMessage("user", text) for text in texts)
    return reads_at_most(ModelRequest("m", messages, system))


def test_what_is_read_is_never_reckoned_below_two_characters_a_token() -> None:
    empty = _reads("")
    assert _reads("ab" * 500) - empty == 500
    assert _reads("a" * 999) - empty == 500
    assert _reads("a", "b", system="c") > _reads("a", "b") > _reads("a")


def test_a_character_that_is_not_plain_counts_by_its_bytes() -> None:
    empty = _reads("")
    assert _reads("日本") - empty == 6
    assert _reads("aa日🙂") - empty == 1 + 3 + 4
    assert _reads("\ud800") > empty


def test_a_price_is_for_a_million_and_what_was_read_before_has_its_own() -> None:
    price = Price(Decimal(3), Decimal(15), Decimal("0.3"))
    assert price.cost(1_000_000, 0) == 3
    assert price.cost(0, 1_000) == Decimal("0.015")
    assert price.cost(1_000_000, 0, 1_000_000) == Decimal("0.3")
    # A provider that has read more again than it has read at all is not paid for it.
    assert price.cost(1_000_000, 0, 5_000_000) == Decimal("0.3")
    assert Price(Decimal(3), Decimal(15)).cost(1_000_000, 0, 1_000_000) == 3


def test_a_prompt_is_one_message_of_the_user() -> None:
    request = request_of({"prompt": "Hi", "temperature": 1, "max_tokens": 7}, "usual")
    assert request == ModelRequest("usual", (ModelMessage("user", "Hi"),), None, 7, 1.0)
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    named = request_of({"messages": talk, "model": "m", "system": "s"}, "usual")
    assert (named.model, named.system, named.temperature) == ("m", "s", None)
    assert [one.role for one in named.messages] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("purse", "code"),
    [
        (Purse(Decimal(1)), None),
        (Purse(Decimal(0), token_cap=10), None),
        (Purse(Decimal(1), Decimal("0.99"), day_cap=Decimal(1), day_spent=Decimal("0.99")), None),
        (Purse(Decimal(1), Decimal(1)), "run_budget"),
        (Purse(Decimal(5), day_cap=Decimal(1), day_spent=Decimal(1)), "day_budget"),
        (Purse(Decimal(5), token_cap=10, tokens=9), None),
        (Purse(Decimal(5), token_cap=10, tokens=10), "llm_tokens"),
        (Purse(Decimal(1), Decimal(2), token_cap=10, tokens=11), "llm_tokens"),
    ],
)
def test_a_cap_is_reached_at_its_very_number(purse: Purse, code: str | None) -> None:
    gone = purse.used_up()
    assert (gone.code if gone else None) == code
    assert gone is None or gone.suggestion


async def test_without_a_model_it_is_said_that_there_is_none() -> None:
    models, workspace = NoModels(), UUID(int=1)
    with pytest.raises(Clash) as found:
        await models.find(workspace, "m")
    assert found.value.code == "no_model"
    assert found.value.suggestion
    assert not await models.connected(workspace)
