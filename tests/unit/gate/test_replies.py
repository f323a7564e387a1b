"""Whatever a provider answers, everybody after it can go on with the reply."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelMessage, ModelReply, ModelRequest, ToolCall, ToolResult
from mainspring.gate.capability_call import canonical_json, digest
from mainspring.gate.usage_meter import reads_at_most, reads_usually
from mainspring.outbound.models.model_replies import drop_deep_arguments, tidy_name

LEVELS = Limits().json_depth


def nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


def reply(arguments: Any = "", **others: Any) -> ModelReply:
    call = ToolCall("c\ud800", "look\x00", arguments)
    return ModelReply(
        **{
            "text": "",
            "model": "m",
            "input_tokens": 1,
            "output_tokens": 1,
            "calls": (call,),
            **others,
        }
    )


def test_what_cannot_be_read_has_a_sign_in_its_place() -> None:
    odd = "a\ud800b\x00c"
    made = drop_deep_arguments(
        reply({odd: [odd, {"x": (odd,)}]}, text=odd, thoughts=odd, kept=odd, stop_reason=odd),
        LEVELS,
    )
    plain = "a\ufffdb\ufffdc"
    assert (made.text, made.thoughts, made.kept) == (plain,) * 3
    assert made.stop_reason == "a b c"
    (call,) = made.calls
    assert (call.id, call.name) == ("c\ufffd", "look\ufffd")
    assert call.arguments == {plain: [plain, {"x": [plain]}]}
    # What was right is as it was.
    good = reply({"a": [1, 1.5, None, True, "ä🙂\n"]}, text="Hi\n\tthere", calls=())
    assert drop_deep_arguments(good, LEVELS) == good


def test_arguments_that_nobody_takes_become_a_text() -> None:
    for levels in (LEVELS + 2, 300, 5_000):
        (call,) = drop_deep_arguments(reply(nested(levels)), LEVELS).calls
        assert isinstance(call.arguments, str)
    (call,) = drop_deep_arguments(reply(nested(LEVELS - 1)), LEVELS).calls
    assert call.arguments == nested(LEVELS - 1)
    (call,) = drop_deep_arguments(
        reply({"n": 10**30, "m": -(10**30), "k": 1 << 20_000}), LEVELS
    ).calls
    assert isinstance(call.arguments, dict)
    assert call.arguments["n"] == str(10**30)
    orjson.dumps(call.arguments)


def test_calls_are_distinguished_by_what_can_be_read_of_their_ids() -> None:
    calls = tuple(ToolCall(one, "look", {}) for one in ("a\ud800", "a\ud801", "a\ufffd", "b"))
    found = [one.id for one in drop_deep_arguments(reply(calls=calls), LEVELS).calls]
    assert len(set(found)) == len(calls)
    assert found[-1] == "b"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("m\x1b[31m\u202eevil\ud800\x00\n", "m [31m evil"),
        ("x" * 14_000, "x" * 200),
        ("\x00" * 9_999, ""),
        (None, ""),
    ],
)
def test_the_name_of_a_model_is_one_short_line(name: Any, shown: str) -> None:
    assert tidy_name(name) == shown
    assert drop_deep_arguments(reply(model=name, provider=name), LEVELS).model == shown


@pytest.mark.parametrize(
    "odd", [{"a": "\ud800"}, {"a": 10**30}, nested(300), nested(5_000), {1: 2, "b": 3}, {"a": {7}}]
)
def test_what_is_reckoned_is_reckoned_for_any_conversation(odd: Any) -> None:
    turns = (
        ModelMessage("assistant", "\ud800", (ToolCall("\ud800", "x", odd),), kept="\ud800"),
        ModelMessage("user", results=(ToolResult("\ud800", "x", "\ud800"),)),
    )
    request = ModelRequest("m", turns, "\ud800")
    assert reads_at_most(request) >= reads_usually(request) > 0


def test_arguments_that_nobody_takes_are_distinguished_too() -> None:
    odd: list[Any] = [{"a": "\ud800"}, {"a": "\ud801"}, {"a": 10**30}, {"a": 10**31}, nested(300)]
    assert len({digest(canonical_json(one)) for one in odd}) == len(odd)
    assert canonical_json({"b": "\ud800", "a": 1}) == canonical_json({"a": 1, "b": "\ud800"})
    # What can be taken is spelled as it always was: records are found by it.
    assert canonical_json({"b": "ä", "a": [1]}) == '{"a":[1],"b":"ä"}'.encode()
