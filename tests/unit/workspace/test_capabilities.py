"""The workspace's capabilities: what they take, give and may touch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.clock import Clock, SystemClock
from mainspring.contracts.context import (
    Account,
    Actor,
    CallContext,
    ClientWait,
    HttpClient,
    Mailbox,
    Mailer,
    RunRef,
    Transaction,
)
from mainspring.contracts.errors import InternalError, Invalid, PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.workspace.capabilities import capabilities

OFFERED = {entry.id: entry for entry in capabilities(Limits())}
SCHEMAS = [
    pytest.param(schema, id=f"{entry.id}-{side}")
    for entry in OFFERED.values()
    for side, schema in (("input", entry.input_schema), ("output", entry.output_schema))
]


class NoDatabase:
    """A transaction that must not be touched."""

    async def execute(self, query: str, *args: Any) -> str:
        raise AssertionError(query)

    async def fetch(self, query: str, *args: Any) -> list[Mapping[str, Any]]:
        raise AssertionError(query)

    async def fetchrow(self, query: str, *args: Any) -> Mapping[str, Any] | None:
        raise AssertionError(query)


@dataclass
class Context:
    run: RunRef | None
    actor: Actor = field(default_factory=lambda: Actor(UUID(int=1), "member", UUID(int=2)))
    clock: Clock = field(default_factory=SystemClock)
    key: str = "k"
    client_wait: ClientWait | None = None
    repeated: bool = False
    tx: Transaction = field(default_factory=NoDatabase)

    @property
    def http(self) -> HttpClient:
        raise InternalError("no way out")

    @property
    def mail(self) -> Mailer:
        raise InternalError("no mail")

    @property
    def account(self) -> Account | None:
        return None

    def mailbox(self) -> AbstractAsyncContextManager[Mailbox]:
        raise InternalError("no mailbox")

    async def owner_address(self) -> str | None:
        return None

    def spend(self, usd: Decimal) -> None:
        raise AssertionError(usd)

    @property
    def model(self) -> str:
        raise AssertionError("no model")

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise AssertionError(request)


def test_the_memory_of_an_automation_has_four_verbs() -> None:
    memory = {f"automation_kv.{verb}" for verb in ("get", "set", "list", "delete")}

    assert set(OFFERED) == {*memory, "publish_event"}


@pytest.mark.parametrize("entry", OFFERED.values(), ids=OFFERED.keys())
def test_each_shares_the_transaction_of_its_record_and_says_what_it_does(
    entry: Capability,
) -> None:
    keeps = entry.id.endswith((".set", ".delete", "publish_event"))

    assert entry.annotations.transactional
    assert entry.annotations.effect is (Effect.KEEP if keeps else Effect.READ)
    assert entry.write is None
    assert entry.label


@pytest.mark.parametrize("schema", SCHEMAS)
def test_examples_are_valid_and_anti_examples_are_not(schema: dict[str, Any]) -> None:
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.validator_for(schema)
    anti = schema["x-mainspring-anti-examples"]

    assert [value for value in schema["examples"] if not validator.is_valid(value)] == []
    assert [entry for entry in anti if validator.is_valid(entry["value"])] == []
    assert anti
    assert all(entry["reason"] for entry in anti)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "automation_kv.get": {"key": "a"},
    "automation_kv.set": {"key": "a", "value": 1},
    "automation_kv.list": {},
    "automation_kv.delete": {"key": "a"},
}


@pytest.mark.parametrize("name", ARGUMENTS)
async def test_outside_a_run_there_is_no_automation_and_no_memory(name: str) -> None:
    context: CallContext = Context(run=None)

    with pytest.raises(PermissionDenied) as caught:
        await OFFERED[name].handler(context, ARGUMENTS[name])

    assert caught.value.code == "kv_outside_run"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("automation_kv.get", {"key": ""}),
        ("automation_kv.get", {"key": "a\0b"}),
        ("automation_kv.get", {"key": "a\nb"}),
        ("automation_kv.get", {"key": "\ud800"}),
        ("automation_kv.get", {"key": "k" * 257}),
        ("automation_kv.delete", {"key": "\x7f"}),
        ("automation_kv.list", {"prefix": "a\0"}),
        ("automation_kv.list", {"after": "\ud800"}),
        ("automation_kv.set", {"key": "a\0", "value": 1}),
        ("automation_kv.set", {"key": "a", "value": "x\0y"}),
        ("automation_kv.set", {"key": "a", "value": {"k": ["\ud800"]}}),
        ("automation_kv.set", {"key": "a", "value": 2**64}),
        ("automation_kv.set", {"key": "a", "value": float("nan")}),
        ("automation_kv.set", {"key": "a", "value": "x" * 65_536}),
        ("automation_kv.set", {"key": "a", "value": object()}),
    ],
)
async def test_what_the_database_could_not_give_back_unchanged_is_refused(
    name: str, arguments: dict[str, Any]
) -> None:
    run = RunRef(UUID(int=3), UUID(int=4), "step")

    with pytest.raises(Invalid):
        await OFFERED[name].handler(Context(run=run), arguments)
