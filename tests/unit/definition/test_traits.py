"""Which steps change nothing, as their actions and capabilities declare, and who is asked then."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pytest

from mainspring.app import build_registry
from mainspring.contracts.action import Action
from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry
from mainspring.contracts.toolset import Toolset
from mainspring.definition.authority import find_additions
from mainspring.definition.authority import read_authority as _authority_of
from mainspring.definition.traits import (
    find_pure_steps,
    find_sending_steps,
    is_pure,
    read_stored_traits,
    read_traits,
)

LIMITS: Final = Limits()
REAL: Final = build_registry(LIMITS)


async def _nothing(ctx: Any, value: Any) -> Any:
    raise AssertionError("nothing is called here")


def _capability(name: str = "notes.read", write: Write | None = None, **hints: Any) -> Capability:
    return Capability(name, name, {}, {}, _nothing, write, Annotations(**hints))


def _words(*capabilities: Capability, **more: Any) -> Registry:
    action = Action("pick", "pick", {}, {}, _nothing, **more)
    return Registry(actions=[action], capabilities=capabilities)


def _document(*plan: dict[str, Any], **execution: Any) -> dict[str, Any]:
    return {"triggers": [], "plan": list(plan), "execution": execution, "inputs": {"schema": {}}}


def _step(name: str, action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": name, "action": action, "config": config}


@pytest.mark.parametrize(
    ("action", "config", "pure"),
    [
        ("transform_data", {"output": 1}, True),
        ("delay", {"seconds": 1}, True),
        ("approval", {"title": "May I?"}, True),
        ("for_each", {"items": [], "steps": []}, True),
        ("list_boards", {}, True),
        ("get_board", {"board_id": "x"}, True),
        ("automation_kv.get", {"key": "x"}, True),
        ("append_board_rows", {}, False),
        ("notification", {"title": "x"}, False),
        ("callback_webhook", {"url": "https://a.example"}, False),
        ("http_fetch", {"url": "https://a.example", "method": "GET"}, False),
        ("automation_llm_complete", {"prompt": "x"}, False),
        ("agent_task", {"prompt": "x"}, False),
        ("script", {"source": "return 1"}, False),
        ("no.such.thing", {}, False),
    ],
)
def test_what_the_product_offers_is_pure_by_what_it_declares(
    action: str, config: dict[str, Any], pure: bool
) -> None:
    assert is_pure(action, config, REAL) is pure


@pytest.mark.parametrize(
    ("more", "sends"),
    [
        ({}, False),
        ({"method": "GET"}, False),
        ({"method": "HEAD"}, False),
        ({"method": "POST"}, True),
        ({"method": "DELETE"}, True),
        ({"method": "{{ inputs.method }}"}, True),
    ],
)
def test_a_request_sends_where_its_method_may_change_something(
    more: dict[str, Any], sends: bool
) -> None:
    document = _document(_step("ask", "http_fetch", url="https://a.example", **more))
    assert find_sending_steps(document, REAL) == ({"/plan/0"} if sends else set())


@pytest.mark.parametrize(
    "hints",
    [
        {"effect": Effect.KEEP},
        {"effect": Effect.SEND},
        {"reach": lambda given: Effect.READ},
        {"route": ConnectionRoute("mail", frozenset({"mail.example"}))},
        {"hosts": frozenset({"a.example"})},
        {"opens": True},
        {"asks_outside": True},
        {"pin": "x"},
        {"side_effects": frozenset({"USER_VISIBLE"})},
        {"price": lambda given: Decimal(1)},
        {"asks_models": True},
        {"connected": {"source": "fetch"}},
    ],
)
def test_a_capability_that_reaches_further_than_the_workspace_is_not_pure(
    hints: dict[str, Any],
) -> None:
    assert is_pure("notes.read", {}, _words(_capability()))
    assert not is_pure("notes.read", {}, _words(_capability(**hints)))
    calls = _words(_capability(**hints), uses=lambda config: (Grant("notes.read"),))
    assert not is_pure("pick", {}, calls)


def test_an_action_is_as_pure_as_what_it_calls() -> None:
    assert is_pure("pick", {}, _words())
    assert is_pure("pick", {}, _words(_capability(), uses=lambda config: (Grant("notes.read"),)))
    assert not is_pure("pick", {}, _words(uses=lambda config: (Grant("not.there"),)))
    assert not is_pure("pick", {}, _words(reports_usage=True))
    held = replace(_capability(), write=Write(preview=lambda given: "x"))
    assert not is_pure("notes.read", {}, _words(held))


def test_steps_inside_and_after_a_failure_are_judged_by_themselves() -> None:
    document = _document(
        _step(
            "all",
            "for_each",
            items=[],
            steps=[_step("look", "get_board"), _step("add", "append_board_rows")],
        ),
        on_failure=[_step("last", "list_boards")],
    )
    assert find_pure_steps(document, REAL) == {
        "/plan/0",
        "/plan/0/config/steps/0",
        "/execution/on_failure/0",
    }


ASK: Final = _step("ask", "approval", title="May I?")
SEND: Final = _step("send", "append_board_rows", board_id="b")
MAY: Final = (Grant("append_board_rows"), Grant("list_boards"))


def _asked(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    was, now = (
        _authority_of(one, MAY, LIMITS, pure=read_traits(one, MAY, REAL).pure)
        for one in (before, after)
    )
    return [one.says for one in find_additions(was, now) if one.kind == "approval"]


def test_granted_capabilities_are_named_by_their_labels_except_connected_tools() -> None:
    own = _capability("notes.read")
    tool = _capability("shop.read", toolset=Toolset.CONNECTED)
    words = _words(replace(own, description="Read notes\n\nAll of them."), tool)
    grants = (Grant("notes.read"), Grant("shop.read"), Grant("not.there"))
    traits = read_traits(_document(), grants, words)
    assert traits.labels == {"notes.read": "Read notes"}
    assert read_stored_traits(traits.as_dict(), _document()) == traits
    before = {key: one for key, one in traits.as_dict().items() if key != "labels"}
    assert read_stored_traits(before, _document()).labels == {}


def test_nobody_is_asked_about_a_pure_step_in_front_of_an_approval() -> None:
    before = _document(ASK, SEND)
    assert _asked(before, _document(_step("look", "list_boards"), ASK, SEND)) == []
    assert _asked(before, _document(ASK, SEND, on_failure=[_step("look", "list_boards")])) == []
    assert _asked(_document(ASK), _document(_step("look", "list_boards"))) == []
    assert _asked(before, _document(SEND, ASK)) == [
        "It now does send (append_board_rows) without waiting for the answer at the step ask."
    ]
    assert _asked(_document(_step("look", "list_boards"), ASK), _document(SEND)) == [
        "It no longer asks a person at the step ask."
    ]
