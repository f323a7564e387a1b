"""What a model can take, reckoned before it is asked, and the caps it is held against."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict
from mainspring.contracts.model import EmptyModelCatalog, ModelMessage, ModelRequest, Price
from mainspring.gate.run_budget import RunBudget
from mainspring.gate.usage_meter import reads_at_most, reads_usually
from mainspring.outbound.models.llm_complete import request_of


def _asked(*texts: str, system: str | None = None) -> ModelRequest:
    return ModelRequest("m", tuple(ModelMessage("user", text) for text in texts), system)


def _tokens(text: str) -> tuple[int, int]:
    """What a text is reckoned at: at most, and usually."""
    asked, empty = _asked(text), _asked("")
    return (
        reads_at_most(asked) - reads_at_most(empty),
        reads_usually(asked) - reads_usually(empty),
    )


def test_no_text_is_more_tokens_than_it_has_bytes() -> None:
    # Where letters and signs change at each character, each is a token of its own.
    for text in ("a1" * 500, "\x01\x02" * 500, "aa日🙂", "é!é?", "\ud800"):
        assert _tokens(text)[0] == len(text.encode("utf-8", "replace"))
    most = [reads_at_most(_asked(*texts)) for texts in (("a",), ("a", "b"))]
    assert most[0] < most[1] < reads_at_most(_asked("a", "b", system="c"))


def test_a_usual_text_is_two_plain_characters_a_token_and_others_by_their_bytes() -> None:
    assert [_tokens(text)[1] for text in ("ab" * 500, "a" * 999)] == [500, 500]
    assert _tokens("日本")[1] == 6
    assert _tokens("aa日🙂")[1] == 1 + 3 + 4
    assert _tokens("\ud800")[1] > 0


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
    ("budget", "code"),
    [
        (RunBudget(Decimal(1)), None),
        (RunBudget(Decimal(0), token_cap=10), None),
        (
            RunBudget(Decimal(1), Decimal("0.99"), day_cap=Decimal(1), day_spent=Decimal("0.99")),
            None,
        ),
        (RunBudget(Decimal(1), Decimal(1)), "run_budget"),
        (RunBudget(Decimal(5), day_cap=Decimal(1), day_spent=Decimal(1)), "day_budget"),
        (RunBudget(Decimal(5), token_cap=10, tokens=9), None),
        (RunBudget(Decimal(5), token_cap=10, tokens=10), "llm_tokens"),
        (RunBudget(Decimal(1), Decimal(2), token_cap=10, tokens=11), "llm_tokens"),
    ],
)
def test_a_cap_is_reached_at_its_very_number(budget: RunBudget, code: str | None) -> None:
    gone = budget.used_up()
    assert (gone.code if gone else None) == code
    assert gone is None or gone.suggestion


async def test_without_a_model_it_is_said_that_there_is_none() -> None:
    models, workspace = EmptyModelCatalog(), UUID(int=1)
    with pytest.raises(Conflict) as found:
        await models.find(workspace, "m")
    assert found.value.code == "no_model"
    assert found.value.suggestion
    assert not await models.connected(workspace)
