"""A sign-in at a terminal: confirmed once, by a person, with its own code and in time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts import terminal_session
from mainspring.contracts.errors import Expired, LimitExceeded, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database
from mainspring.workspace.people import device_login
from mainspring.workspace.people.device_login import DeviceAuthorization
from mainspring.workspace.people.sessions import find_session
from mainspring.workspace.people.sign_in import SignInOrigin
from tests.kit.tenants import add_person, add_workspace

pytestmark = pytest.mark.asyncio(loop_scope="module")
HERE = generate_id()
VISIT = SignInOrigin("192.0.2.1", "mainspring on box")


class Rows:
    """Ann, and two terminals that wait for a person."""

    def __init__(
        self, database: Database, ann: UUID, mine: DeviceAuthorization, other: DeviceAuthorization
    ) -> None:
        self.database, self.ann, self.mine, self.other = database, ann, mine, other

    async def answer(self, code: str, *, confirm: bool = True) -> None:
        async with self.database.transaction() as tx:
            await device_login.answer_login(tx, self.ann, HERE, code, confirm=confirm)

    async def collect(self, device: str) -> Any:
        async with self.database.transaction() as tx:
            return await device_login.collect(tx, device)

    async def look(self, code: str) -> dict[str, Any]:
        async with self.database.acquire() as tx:
            return await device_login.look(tx, code)

    async def waiting(self) -> int:
        return int(await self.database.fetchval("SELECT count(*) FROM terminal_sign_ins"))


@pytest_asyncio.fixture(loop_scope="module")
async def rows(rolled_back: Database) -> Rows:
    await add_workspace(rolled_back, HERE, "here")
    ann = (await add_person(rolled_back, HERE)).id
    async with rolled_back.transaction() as tx:
        mine = await device_login.begin_device_login(tx, VISIT)
        other = await device_login.begin_device_login(tx, VISIT)
    return Rows(rolled_back, ann, mine, other)


async def test_a_confirmed_terminal_gets_its_session_once(rows: Rows) -> None:
    assert await rows.collect(rows.mine.device_code) is None
    shown = await rows.look(rows.mine.code)
    assert (shown["label"], shown["address"]) == ("mainspring on box", "192.0.2.1")
    assert shown["expires_at"] - shown["created_at"] == timedelta(minutes=10)
    await rows.answer(rows.mine.code.lower().replace("-", " "))
    # The other terminal waits on.
    assert await rows.collect(rows.other.device_code) is None
    for code in (rows.mine.code, "BBBB-BBBB"):
        with pytest.raises(Expired) as over:
            await rows.look(code)
        assert over.value.code == "code_over"
        with pytest.raises(Expired):
            await rows.answer(code)
    found = await rows.collect(rows.mine.device_code)
    assert (found.user_id, found.workspace_id) == (rows.ann, HERE)
    async with rows.database.acquire() as tx:
        session = await find_session(tx, found.plain, kind="terminal")
        assert await find_session(tx, found.plain) is None
        entry = await tx.fetchrow("SELECT * FROM audit_log WHERE action = 'sign_in'")
    assert session is not None
    assert (session.id, session.user_id) == (found.session_id, rows.ann)
    assert entry is not None
    assert (entry["subject"], entry["detail"]) == (
        str(found.session_id),
        {"by": "terminal", "address": "192.0.2.1"},
    )
    with pytest.raises(Expired):
        await rows.collect(rows.mine.device_code)
    assert await rows.waiting() == 1


async def test_a_declined_terminal_gets_none(rows: Rows) -> None:
    await rows.answer(rows.mine.code, confirm=False)
    async with rows.database.transaction() as tx:
        with pytest.raises(PermissionDenied) as refused:
            await device_login.collect(tx, rows.mine.device_code)
    assert refused.value.code == "sign_in_declined"
    assert await rows.database.fetchval("SELECT count(*) FROM sessions") == 0
    with pytest.raises(Expired):
        await rows.collect(rows.mine.device_code)


async def test_what_nobody_knows_is_over(rows: Rows) -> None:
    for device in ("", rows.mine.code, "x" * 43):
        with pytest.raises(Expired):
            await rows.collect(device)


@pytest.mark.parametrize("confirmed", [False, True])
async def test_ten_minutes_later_a_code_is_over(rows: Rows, confirmed: bool) -> None:
    if confirmed:
        await rows.answer(rows.mine.code)
    await rows.database.execute("UPDATE terminal_sign_ins SET expires_at = now()")
    with pytest.raises(Expired):
        await rows.look(rows.mine.code)
    with pytest.raises(Expired):
        await rows.answer(rows.mine.code)
    with pytest.raises(Expired):
        await rows.collect(rows.mine.device_code)


async def test_old_requests_are_forgotten_and_many_are_refused(rows: Rows) -> None:
    await rows.database.execute(
        "UPDATE terminal_sign_ins SET expires_at = now() - interval '1 second' "
        "WHERE code_hash <> ALL($1::bytea[])",
        [],
    )
    made = []
    for number in range(18):
        async with rows.database.transaction() as tx:
            made.append(await device_login.begin_device_login(tx, VISIT))
        assert await rows.waiting() == number + 1
    with pytest.raises(LimitExceeded) as refused:
        async with rows.database.transaction() as tx:
            await device_login.begin_device_login(tx, VISIT)
    assert refused.value.retry_after is not None
    assert 20 < refused.value.retry_after <= 30
    async with rows.database.transaction() as tx:
        await device_login.begin_device_login(tx, SignInOrigin("198.51.100.1", "another"))
    assert await rows.collect(made[-1].device_code) is None


async def test_a_person_types_ten_codes_and_then_waits(rows: Rows) -> None:
    for _ in range(10):
        await device_login.count_code(rows.database, rows.ann)
    with pytest.raises(LimitExceeded) as refused:
        await device_login.count_code(rows.database, rows.ann)
    assert refused.value.code == "too_many_tries"
    assert refused.value.retry_after is not None
    assert 5 < refused.value.retry_after <= 10
    await device_login.count_code(rows.database, generate_id())


async def test_a_label_is_short_and_printable(rows: Rows) -> None:
    async with rows.database.transaction() as tx:
        made = await device_login.begin_device_login(
            tx, SignInOrigin("192.0.2.1", "a\nb" + "x" * 200)
        )
    assert (await rows.look(made.code))["label"] == "ab" + "x" * 118


async def test_a_confirmation_is_of_one_call_alone() -> None:
    given = terminal_session.compute_call_digest("post", "/a?b=1", b"body")
    assert given == terminal_session.compute_call_digest("POST", "/a?b=1", b"body")
    others = [
        terminal_session.compute_call_digest("PUT", "/a?b=1", b"body"),
        terminal_session.compute_call_digest("POST", "/a?b=2", b"body"),
        terminal_session.compute_call_digest("POST", "/a?b=1", b"other"),
    ]
    assert len({given, *others}) == 4
    assert terminal_session.CONFIRMED_HEADER == "X-Terminal-Confirmed"
    # The CLI and the server may have different versions: both know the same limit.
    assert terminal_session.MOST_CONFIRMED_BYTES == 1024 * 1024


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("mst_" + "aZ9_-" * 8 + "abc", True),
        ("mst_" + "a" * 42, False),
        ("mst_" + "a" * 44, False),
        ("mst_" + "a" * 42 + "+", False),
        ("mat_" + "a" * 43, False),
        ("", False),
    ],
)
async def test_the_session_of_a_terminal_is_known_by_its_form(text: str, is_one: bool) -> None:
    assert terminal_session.is_terminal_session(text) is is_one


async def test_a_code_has_eight_consonants(rows: Rows) -> None:
    mails = set(rows.mine.code + rows.other.code) - {"-"}
    assert mails <= set("BCDFGHJKLMNPQRSTVWXZ")
    assert {tuple(map(len, one.code.split("-"))) for one in (rows.mine, rows.other)} == {(4, 4)}
    assert rows.mine.code != rows.other.code
