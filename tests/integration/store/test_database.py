"""The pool: what travels through it, what is reported when it breaks, how it heals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import orjson
import pytest
import pytest_asyncio

from mainspring.contracts.errors import Conflict, Invalid, NotFound, Problem, UpstreamError
from mainspring.settings import Settings
from mainspring.store.application_name import (
    VERSION,
    build_application_name,
    count_other_processes,
    count_processes_by_version,
    hash_host_name,
)
from mainspring.store.database import Connection, Database, as_json, is_lost_connection
from tests.kit.processes import first_line, is_running, module_process
from tests.kit.runaway import RUNAWAY

HEALED_WITHIN = 30.0
DIE = "SELECT pg_terminate_backend(pg_backend_pid())"


@pytest_asyncio.fixture
async def own(used_home: Path) -> AsyncIterator[Database]:
    """A database over an embedded server of the test's own."""
    opened = await Database.open(Settings(home=used_home))
    try:
        yield opened
    finally:
        await opened.close()


def postgres_of(database: Database) -> int:
    assert database.server is not None
    assert database.server.pid is not None
    return database.server.pid


async def kept_row(database: Database) -> object:
    return await database.run_retrying(lambda c: c.fetchval("SELECT n FROM kept"))


def kill_postgres(database: Database) -> None:
    os.kill(postgres_of(database), signal.SIGKILL)


async def test_json_travels_as_values_alone_and_in_arrays(database: Database) -> None:
    documents = [{"a": [1, 2.5, None, "ü\u2028"]}, "text", 7, True, {}]

    for kind in ("jsonb", "json"):
        assert await database.fetchval(f"SELECT $1::{kind}", documents) == documents
        assert await database.fetchval(f"SELECT $1::{kind}[]", documents) == documents
    rows = await database.fetch("SELECT x FROM unnest($1::jsonb[]) AS x", documents)
    assert [row["x"] for row in rows] == documents
    assert await database.fetchval("SELECT jsonb_typeof($1::jsonb)", "text") == "string"


async def test_an_array_may_hold_any_json_value_that_is_marked_as_one(database: Database) -> None:
    documents = [[], [1, [2]], None, {"a": None}, "text"]

    rows = await database.fetch(
        "SELECT x, jsonb_typeof(x) AS kind FROM unnest($1::jsonb[]) AS x",
        [as_json(document) for document in documents],
    )

    assert [row["x"] for row in rows] == documents
    assert [row["kind"] for row in rows] == ["array", "array", "null", "object", "string"]


async def test_json_text_is_passed_on_without_being_parsed(database: Database) -> None:
    text = orjson.Fragment(b'{"n": 1.10}')

    assert await database.fetchval("SELECT $1::jsonb::text", text) == '{"n": 1.10}'
    assert await database.fetchval("SELECT ($1::jsonb[])[1]::text", [text]) == '{"n": 1.10}'


async def test_an_integer_that_cannot_be_read_back_is_refused(database: Database) -> None:
    with pytest.raises(asyncpg.DataError):
        await database.fetchval("SELECT $1::jsonb", 2**70)


async def test_money_is_exact_and_ids_are_ids(database: Database) -> None:
    amount, identity = Decimal("12345678901234567890.123456789"), uuid4()

    row = await database.fetchrow("SELECT $1::numeric AS n, $2::uuid AS i", amount, identity)

    assert row is not None
    assert row["n"] == amount
    assert isinstance(row["n"], Decimal)
    assert isinstance(row["i"], UUID)
    assert row["i"] == identity


async def test_sessions_speak_utc_and_have_no_statement_timeout(database: Database) -> None:
    assert await database.fetchval("SHOW timezone") == "UTC"
    assert await database.fetchval("SHOW statement_timeout") == "0"
    assert await database.fetchval("SHOW application_name") == build_application_name("mainspring")


async def test_sessions_tell_the_version_of_who_opened_them(
    database: Database, database_url: str
) -> None:
    elsewhere = hash_host_name("elsewhere")
    names = (f"worker:7:{elsewhere}:0.0.9", f"api:8:{elsewhere}", "psql")
    async with contextlib.AsyncExitStack() as opened:
        for name in names:
            other = await asyncpg.connect(database_url, server_settings={"application_name": name})
            opened.push_async_callback(other.close)

        assert await count_processes_by_version(database) == {VERSION: 1, "0.0.9": 1, "": 1}
        assert await count_other_processes(database) == 2


async def test_a_transaction_is_kept_whole_or_not_at_all(database: Database) -> None:
    await database.execute("CREATE TABLE notes (n integer PRIMARY KEY)")
    async with database.transaction() as tx:
        await tx.execute("INSERT INTO notes VALUES (1)")

    async def fail() -> None:
        async with database.transaction() as tx:
            await tx.execute("INSERT INTO notes VALUES (2)")
            raise NotFound("not this one")

    with pytest.raises(NotFound):
        await fail()

    assert [row["n"] for row in await database.fetch("SELECT n FROM notes")] == [1]


async def test_a_refused_row_is_the_callers_to_judge(database: Database) -> None:
    await database.execute("CREATE TABLE notes (n integer PRIMARY KEY)")
    await database.execute("INSERT INTO notes VALUES (1)")

    with pytest.raises(asyncpg.UniqueViolationError):
        await database.execute("INSERT INTO notes VALUES (1)")


async def test_a_lost_connection_is_reported_without_statement_or_address(
    database: Database,
) -> None:
    with pytest.raises(UpstreamError) as caught:
        async with database.transaction() as tx:
            await tx.execute(DIE)

    problem = caught.value
    assert problem.code == "database_unavailable"
    assert problem.retryable
    assert is_lost_connection(problem)
    shown = str(problem.as_dict())
    assert "pg_terminate" not in shown
    assert "/" not in shown.replace("text/", "")


async def test_an_error_of_the_block_stays_what_it_is_when_the_connection_is_lost(
    database: Database,
) -> None:
    async def fail() -> None:
        async with database.acquire() as connection:
            with pytest.raises(asyncpg.PostgresError):
                await connection.execute(DIE)
            raise NotFound("my own")

    with pytest.raises(NotFound, match="my own"):
        await fail()


async def test_using_a_lost_connection_further_is_reported_the_same_way(database: Database) -> None:
    async def go_on() -> None:
        async with database.acquire() as connection:
            with pytest.raises(asyncpg.PostgresError):
                await connection.execute(DIE)
            await connection.execute("SELECT 1")

    with pytest.raises(UpstreamError) as caught:
        await go_on()
    assert caught.value.code == "database_unavailable"


async def test_work_is_done_again_after_a_lost_connection(database: Database) -> None:
    tries = 0

    async def work(connection: Connection) -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            await connection.execute(DIE)
        value = await connection.fetchval("SELECT 42")
        assert isinstance(value, int)
        return value

    assert await database.run_retrying(work) == 42
    assert tries == 3


async def test_work_is_done_again_after_a_collision(database: Database) -> None:
    await database.execute("CREATE TABLE pair AS SELECT n, 0 AS hits FROM generate_series(1, 2) n")
    both_hold = asyncio.Barrier(2)
    met: set[int] = set()

    async def work(connection: Connection, order: tuple[int, int]) -> None:
        async with connection.transaction():
            await connection.execute("UPDATE pair SET hits = hits + 1 WHERE n = $1", order[0])
            if order[0] not in met:
                met.add(order[0])
                await both_hold.wait()
            await connection.execute("UPDATE pair SET hits = hits + 1 WHERE n = $1", order[1])

    await asyncio.gather(
        database.run_retrying(lambda c: work(c, (1, 2))),
        database.run_retrying(lambda c: work(c, (2, 1))),
    )

    assert await database.fetchval("SELECT array_agg(hits) FROM pair") == [2, 2]


async def test_other_errors_are_not_tried_again(database: Database) -> None:
    tries = 0

    async def work(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        await connection.execute("SELECT 1 / 0")

    with pytest.raises(asyncpg.DivisionByZeroError):
        await database.run_retrying(work)
    assert tries == 1


async def test_retrying_ends_at_its_deadline(database: Database) -> None:
    async def work(connection: Connection) -> None:
        await connection.execute(DIE)

    begun = time.monotonic()
    with pytest.raises(UpstreamError):
        await database.run_retrying(work, seconds=0.3)
    assert time.monotonic() - begun < RUNAWAY


async def test_a_dedicated_connection_has_its_own_session(database: Database) -> None:
    connection = await database.dedicated(settings={"enable_seqscan": "off"})
    try:
        assert await connection.fetchval("SHOW enable_seqscan") == "off"
        assert await connection.fetchval("SELECT $1::jsonb", {"a": 1}) == {"a": 1}
        assert await database.fetchval("SHOW enable_seqscan") == "on"
    finally:
        await connection.close()


async def test_an_open_transaction_is_undone_when_its_connection_goes_back(
    database_url: str,
) -> None:
    database = await Database.open(Settings(database_url=database_url), pool_size=1)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    try:
        await database.execute("CREATE TABLE notes (n integer)")
        async with database.acquire() as connection:
            await connection.execute("BEGIN")
            await connection.execute("INSERT INTO notes VALUES (1)")

        assert await database.fetchval("SELECT count(*) FROM notes") == 0
    finally:
        await database.close()


async def test_after_kill_9_of_the_embedded_server_the_same_pool_goes_on(own: Database) -> None:
    await own.execute("CREATE TABLE kept AS SELECT 7 AS n")
    assert own.server is not None

    for _ in range(3):
        killed = postgres_of(own)
        kill_postgres(own)
        async with asyncio.timeout(HEALED_WITHIN):
            # A child of the killed server may live on for a moment, and answer.
            while own.server.pid in {None, killed}:
                await kept_row(own)
            assert await kept_row(own) == 7


async def test_an_idle_owner_brings_its_server_back_by_itself(own: Database) -> None:
    killed = postgres_of(own)
    kill_postgres(own)
    assert own.server is not None

    async with asyncio.timeout(HEALED_WITHIN):
        while own.server.pid in {None, killed}:
            await asyncio.sleep(0.01)


async def test_writers_under_way_lose_and_repeat_nothing_when_postgres_is_killed(
    own: Database,
) -> None:
    await own.execute("CREATE TABLE ledger (n integer PRIMARY KEY)")
    answered: list[int] = []

    async def write(n: int) -> None:
        await own.run_retrying(
            lambda c: c.execute("INSERT INTO ledger VALUES ($1) ON CONFLICT DO NOTHING", n)
        )
        answered.append(n)

    async def writer(first: int) -> None:
        for n in range(first, 1_200, 12):
            await write(n)

    writers = asyncio.gather(*(writer(first) for first in range(12)))
    for share in (200, 500, 800):
        while len(answered) < share:
            await asyncio.sleep(0.001)
        kill_postgres(own)
    await writers

    rows = await own.fetch("SELECT n FROM ledger ORDER BY n")
    assert [row["n"] for row in rows] == sorted(answered) == list(range(1_200))


async def test_a_second_owner_is_refused_unless_it_may_attach(
    own: Database, used_home: Path
) -> None:
    with pytest.raises(Conflict, match=f"process {os.getpid()}"):
        await Database.open(Settings(home=used_home))

    oauth_client = await Database.open(Settings(home=used_home), attach=True)
    try:
        assert oauth_client.server is None
        assert await oauth_client.fetchval("SELECT 1") == 1
    finally:
        await oauth_client.close()
    assert await own.fetchval("SELECT 1") == 1


async def test_a_process_that_may_attach_takes_over_an_unowned_folder(used_home: Path) -> None:
    database = await Database.open(Settings(home=used_home), attach=True)
    try:
        assert postgres_of(database)
    finally:
        await database.close()


async def test_a_guest_waits_for_an_owner_that_is_still_starting(data_home: Path) -> None:
    settings = Settings(home=data_home)
    owner, oauth_client = await asyncio.gather(
        Database.open(settings, attach=True), Database.open(settings, attach=True)
    )
    try:
        assert [owner.server is None, oauth_client.server is None].count(True) == 1
        assert await owner.fetchval("SELECT 1") == await oauth_client.fetchval("SELECT 1") == 1
    finally:
        await owner.close()
        await oauth_client.close()


async def test_a_guest_becomes_the_owner_when_the_owner_is_killed(used_home: Path) -> None:
    with module_process("tests.kit.owner_process", [str(used_home)]) as owner:
        postgres = int(await asyncio.to_thread(first_line, owner))
        guests = [await Database.open(Settings(home=used_home), attach=True) for _ in range(3)]
        try:
            await guests[0].execute("CREATE TABLE kept AS SELECT 7 AS n")
            owner.kill()
            owner.wait()
            async with asyncio.timeout(HEALED_WITHIN):
                # The server of the dead may answer for a moment, on its way out.
                while not any(oauth_client.server for oauth_client in guests):
                    await asyncio.gather(*map(kept_row, guests))
                assert await asyncio.gather(*map(kept_row, guests)) == [7, 7, 7]

            assert sum(oauth_client.server is not None for oauth_client in guests) == 1
            assert not is_running(postgres)
        finally:
            for oauth_client in guests:
                await oauth_client.close()


async def test_the_guests_of_a_closed_owner_follow_one_of_them(used_home: Path) -> None:
    settings = Settings(home=used_home)
    owner = await Database.open(settings)
    oauth_client = await Database.open(settings, attach=True)
    try:
        await owner.close()

        await oauth_client.recover()
        assert oauth_client.server is not None
    finally:
        await oauth_client.close()


async def test_closing_ends_the_server_and_frees_the_folder(used_home: Path) -> None:
    first = await Database.open(Settings(home=used_home))
    postgres = postgres_of(first)
    await first.close()

    assert not is_running(postgres)
    again = await Database.open(Settings(home=used_home))
    await again.close()


async def test_a_call_after_shutdown_does_not_start_the_server_again(used_home: Path) -> None:
    database = await Database.open(Settings(home=used_home))
    postgres = postgres_of(database)
    await database.close()

    with pytest.raises(UpstreamError):
        await database.dedicated()
    assert not is_running(postgres)
    assert database.server is None


@pytest.mark.parametrize(
    ("url", "kind", "code", "text"),
    [
        (
            "postgresql://u:hidden@127.0.0.1:1/nothing",
            UpstreamError,
            "database_unavailable",
            "That is 'nothing' at 127.0.0.1:1.",
        ),
        (
            "postgresql://u:hidden@/x?host=/nowhere",
            UpstreamError,
            "database_unavailable",
            "That is 'x' at /nowhere:5432.",
        ),
        ("mysql://u:hidden@127.0.0.1/x", Invalid, "database_address", "is invalid."),
    ],
)
async def test_an_outside_server_that_cannot_be_used_is_reported_by_its_place_without_a_password(
    url: str, kind: type[Problem], code: str, text: str
) -> None:
    with pytest.raises(kind) as caught:
        await Database.open(Settings(database_url=url))

    assert caught.value.code == code
    assert caught.value.detail.endswith(text)
    assert "MAINSPRING_DATABASE_URL" in str(caught.value.suggestion)
    assert "hidden" not in str(caught.value.as_dict())


async def test_an_outside_server_without_the_database_is_reported(database_url: str) -> None:
    with pytest.raises(Invalid) as caught:
        await Database.open(Settings(database_url=database_url.replace("/test_", "/no_")))

    assert caught.value.code == "database_missing"
    assert "That is 'no_" in caught.value.detail


async def test_an_outside_server_that_restarts_is_found_again(own: Database) -> None:
    assert own.server is not None
    outside = await Database.open(Settings(database_url=own.server.dsn))
    try:
        await own.execute("CREATE TABLE kept AS SELECT 7 AS n")
        killed = postgres_of(own)
        kill_postgres(own)
        async with asyncio.timeout(HEALED_WITHIN):
            while own.server.pid in {None, killed}:
                await kept_row(outside)
            assert await kept_row(outside) == 7
    finally:
        await outside.close()


async def test_a_new_connection_asks_nothing_about_the_types_that_postgres_brings(
    database: Database,
) -> None:
    """Asking costs more than most of our own questions, and a burst needs new connections."""
    arrays = "SELECT $1::uuid[] AS a, $2::text[] AS b, $3::jsonb[] AS c"
    await database.fetch(arrays, [], [], [])
    asked: list[str] = []
    connection = await database.dedicated()
    try:
        connection.add_query_logger(lambda record: asked.append(record.query))
        row = await connection.fetchrow(arrays, [UUID(int=7)], ["x"], [as_json({"y": [1]})])
    finally:
        await connection.close()
    assert row is not None
    assert (row["a"], row["b"], row["c"]) == ([UUID(int=7)], ["x"], [{"y": [1]}])
    assert asked == [arrays]


async def test_a_type_that_somebody_made_is_asked_for_on_every_connection(
    database: Database,
) -> None:
    """It has another number in another database, and after it was made anew."""
    for values in (["one", "two"], ["two", "three"]):
        made = ", ".join(f"'{value}'" for value in values)
        await database.execute(f"DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ({made})")
        connection = await database.dedicated()
        try:
            assert await connection.fetchval("SELECT $1::mood[]", values) == values
        finally:
            await connection.close()
