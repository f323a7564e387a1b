"""automation_kv over a real database: remembered by one automation, once, within limits."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import jsonschema_rs
import pytest
import pytest_asyncio

from mainspring.contracts.clock import Clock, SystemClock
from mainspring.contracts.context import (
    Account,
    Actor,
    ClientWait,
    HttpClient,
    Mailbox,
    Mailer,
    RunRef,
    Transaction,
)
from mainspring.contracts.errors import InternalError, Invalid, LimitExceeded
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.contracts.outcome import Unchanged
from mainspring.store.database import Database
from mainspring.workspace.capabilities import capabilities


@dataclass
class Context:
    """A call of one run, with a transaction."""

    actor: Actor
    run: RunRef | None
    tx: Transaction
    clock: Clock = field(default_factory=SystemClock)
    key: str = "run/step/1"
    client_wait: ClientWait | None = None
    repeated: bool = False

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


@dataclass(frozen=True)
class Memory:
    """One automation's view of its memory."""

    database: Database
    workspace_id: UUID
    automation_id: UUID
    limits: Limits = field(default_factory=Limits)

    async def __call__(self, verb: str, **arguments: Any) -> Any:
        async with self.database.transaction() as tx:
            return await self.within(cast("Transaction", tx), verb, **arguments)

    async def within(self, tx: Transaction, verb: str, **arguments: Any) -> Any:
        offered = {entry.id: entry for entry in capabilities(self.limits)}
        entry = offered[f"automation_kv.{verb}"]
        run = RunRef(generate_id(), self.automation_id, "step")
        context = Context(Actor(self.workspace_id, "run", run.id), run, tx)
        _check(entry.input_schema, arguments)
        returned = await entry.handler(context, arguments)
        result = returned.value if isinstance(returned, Unchanged) else returned
        _check(entry.output_schema, result)
        return result


def _check(schema: Any, value: Any) -> None:
    jsonschema_rs.validator_for(schema).validate(value)


async def _automation(database: Database, workspace_id: UUID) -> UUID:
    await database.execute(
        "INSERT INTO workspaces (workspace_id, name) VALUES ($1, 'test') ON CONFLICT DO NOTHING",
        workspace_id,
    )
    automation_id = generate_id()
    await database.execute(
        "INSERT INTO automations (workspace_id, id, name, version, created_by) "
        "VALUES ($1, $2, $3, 1, $2)",
        workspace_id,
        automation_id,
        str(automation_id),
    )
    return automation_id


@pytest_asyncio.fixture
async def memory(database: Database) -> Memory:
    workspace_id = generate_id()
    return Memory(database, workspace_id, await _automation(database, workspace_id))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        2**63 - 1,
        2**64 - 1,
        1.5,
        1.0,
        1e300,
        5e-324,
        "",
        "ü 🔑 \\ \" '",
        "{{ not.a.template }}",
        [],
        {},
        {"a": [1, {"b": None}], "": "empty key", "ü": [[]]},
        "x" * 65_000,
    ],
)
async def test_a_value_comes_back_as_it_was(memory: Memory, value: Any) -> None:
    assert await memory("set", key="k", value=value) == {"key": "k", "created": True, "set": True}

    found = await memory("get", key="k")

    assert found == {"found": True, "value": value}
    assert type(found["value"]) is type(value)


async def test_what_is_not_there_is_the_default(memory: Memory) -> None:
    assert await memory("get", key="k") == {"found": False, "value": None}
    assert await memory("get", key="k", default=[1]) == {"found": False, "value": [1]}


async def test_a_kept_null_is_found(memory: Memory) -> None:
    await memory("set", key="k", value=None)

    assert await memory("get", key="k", default=7) == {"found": True, "value": None}


async def test_setting_again_replaces(memory: Memory) -> None:
    await memory("set", key="k", value=1)

    assert await memory("set", key="k", value=2) == {"key": "k", "created": False, "set": True}
    assert (await memory("get", key="k"))["value"] == 2


async def test_if_absent_sets_once(memory: Memory) -> None:
    first = await memory("set", key="k", value=1, if_absent=True)
    second = await memory("set", key="k", value=2, if_absent=True)

    assert first == {"key": "k", "created": True, "set": True}
    assert second == {"key": "k", "created": False, "set": False}
    assert (await memory("get", key="k"))["value"] == 1


async def test_of_many_at_once_exactly_one_is_first(memory: Memory) -> None:
    results = await asyncio.gather(
        *(memory("set", key="k", value=number, if_absent=True) for number in range(12))
    )

    assert sorted(result["set"] for result in results) == [False] * 11 + [True]


async def test_of_many_plain_writes_at_once_exactly_one_creates(memory: Memory) -> None:
    results = await asyncio.gather(*(memory("set", key="k", value=number) for number in range(12)))

    assert sorted(result["created"] for result in results) == [False] * 11 + [True]
    assert all(result["set"] for result in results)


async def test_deleting_says_how_many(memory: Memory) -> None:
    await memory("set", key="k", value=1)

    assert await memory("delete", key="k") == {"deleted": 1}
    assert await memory("delete", key="k") == {"deleted": 0}
    assert not (await memory("get", key="k"))["found"]


async def test_each_automation_has_its_own_memory(memory: Memory) -> None:
    other_tenant = replace(
        memory, automation_id=await _automation(memory.database, memory.workspace_id)
    )
    elsewhere = generate_id()
    anonymous = replace(
        memory,
        workspace_id=elsewhere,
        automation_id=await _automation(memory.database, elsewhere),
    )
    for number, each in enumerate((memory, other_tenant, anonymous)):
        await each("set", key="k", value=number)

    for number, each in enumerate((memory, other_tenant, anonymous)):
        assert (await each("get", key="k"))["value"] == number
        assert [entry["key"] for entry in (await each("list"))["entries"]] == ["k"]
    await memory("delete", key="k")
    assert (await other_tenant("get", key="k"))["found"]
    assert (await anonymous("get", key="k"))["found"]


async def test_a_list_is_in_the_order_of_keys_and_goes_on_where_it_ended(memory: Memory) -> None:
    keys = sorted([*(f"seen/{number}" for number in range(25)), "a", "Z", "seen", "ü", "seen0"])
    for key in reversed(keys):
        await memory("set", key=key, value=key)

    walked: list[str] = []
    after = ""
    while True:
        page = await memory("list", limit=7, after=after)
        walked += [entry["key"] for entry in page["entries"]]
        if page["next"] is None:
            break
        after = page["next"]

    assert walked == keys
    assert all(entry["value"] == entry["key"] for entry in page["entries"])
    assert datetime.fromisoformat(page["entries"][0]["updated_at"]).tzinfo is not None


async def test_a_list_may_be_bound_to_a_prefix(memory: Memory) -> None:
    for key in ("a", "a%", "a_b", "aXb", "b", "A"):
        await memory("set", key=key, value=1)

    async def under(prefix: str) -> list[str]:
        return [entry["key"] for entry in (await memory("list", prefix=prefix))["entries"]]

    assert await under("a") == ["a", "a%", "aXb", "a_b"]
    assert await under("a_") == ["a_b"]
    assert await under("a%") == ["a%"]
    assert await under("zz") == []


async def test_the_default_page_has_a_hundred_entries(memory: Memory) -> None:
    for number in range(101):
        await memory("set", key=f"{number:03}", value=None)

    page = await memory("list")
    rest = await memory("list", after=page["next"])

    assert (len(page["entries"]), page["next"]) == (100, "099")
    assert ([entry["key"] for entry in rest["entries"]], rest["next"]) == (["100"], None)


async def test_a_page_of_large_values_ends_early_and_never_stalls(memory: Memory) -> None:
    small = replace(memory, limits=Limits(step_output_bytes=20_000))
    for number in range(5):
        await memory("set", key=f"k{number}", value="x" * (4_000 if number else 60_000))

    first = await small("list")
    second = await small("list", after=first["next"])
    third = await small("list", after=second["next"])

    assert [[e["key"] for e in page["entries"]] for page in (first, second, third)] == [
        ["k0"],
        ["k1", "k2"],
        ["k3", "k4"],
    ]
    assert third["next"] is None


async def test_an_automation_keeps_so_many_keys_and_no_more(memory: Memory) -> None:
    small = replace(memory, limits=Limits(kv_keys=3))
    for number in range(3):
        await small("set", key=f"k{number}", value=number)

    for more in ({}, {"if_absent": True}):
        with pytest.raises(LimitExceeded) as caught:
            await small("set", key="k3", value=3, **more)
        assert caught.value.code == "kv_full"
        assert not caught.value.retryable

    assert (await small("set", key="k2", value="changed"))["set"]
    assert not (await small("set", key="k2", value="x", if_absent=True))["set"]
    await small("delete", key="k0")
    assert (await small("set", key="k3", value=3))["created"]


async def test_many_at_once_do_not_pass_the_limit_together(memory: Memory) -> None:
    small = replace(memory, limits=Limits(kv_keys=5))

    results = await asyncio.gather(
        *(small("set", key=f"k{number}", value=1) for number in range(12)), return_exceptions=True
    )

    assert sum(isinstance(result, LimitExceeded) for result in results) == 7
    assert len((await small("list"))["entries"]) == 5


async def test_a_write_is_undone_with_its_transaction(memory: Memory) -> None:
    await memory("set", key="kept", value=1)

    with pytest.raises(RuntimeError):
        await _write_and_fail(memory)

    assert [entry["key"] for entry in (await memory("list"))["entries"]] == ["kept"]


async def _write_and_fail(memory: Memory) -> None:
    async with memory.database.transaction() as connection:
        tx = cast("Transaction", connection)
        await memory.within(tx, "set", key="new", value=1)
        await memory.within(tx, "delete", key="kept")
        assert (await memory.within(tx, "get", key="new"))["found"]
        raise RuntimeError("the record of the call could not be written")


async def test_what_cannot_be_kept_is_refused_at_its_place(memory: Memory) -> None:
    await memory("set", key="k", value=1)
    for verb, arguments, pointer in (
        ("set", {"key": "a\nb", "value": 1}, "/key"),
        ("set", {"key": "k", "value": "x" * 65_537}, "/value"),
        ("get", {"key": "\u2028"}, "/key"),
        ("list", {"prefix": "\t"}, "/prefix"),
        ("list", {"after": "\x00"}, "/after"),
    ):
        with pytest.raises(Invalid) as caught:
            await memory(verb, **arguments)
        assert [finding.pointer for finding in caught.value.findings] == [pointer]
    assert (await memory("get", key="k"))["value"] == 1
