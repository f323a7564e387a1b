"""When an address counts as verified: with the right code, in time, and for its own person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.context import Mail
from mainspring.contracts.errors import Conflict, Expired, LimitExceeded, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Connection, Database
from mainspring.workspace.people import email_addresses
from mainspring.workspace.people.email_addresses import VerificationCode, VerifiedUser
from mainspring.workspace.people.users import PLACEHOLDER, read_user

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN, BEN = generate_id(), generate_id()
OLD, NEW = "ann@example.org", "new@example.org"


@pytest_asyncio.fixture(loop_scope="module")
async def people(rolled_back: Database) -> Database:
    """Ann, whose address nobody has verified, and Ben, who waits for a code too."""
    for person, email in ((ANN, OLD), (BEN, "ben@example.org")):
        await rolled_back.execute(
            "INSERT INTO users (id, email, name) VALUES ($1, $2, 'x')", person, email
        )
    async with rolled_back.transaction() as tx:
        await email_addresses.request_code(tx, BEN)
    return rolled_back


async def _state(tx: Connection, state: str, email: str = OLD, person: UUID = ANN) -> None:
    query = "UPDATE users SET email_state = $2, email = $3 WHERE id = $1"
    await tx.execute(query, person, state, email)


async def _kept(tx: Connection) -> tuple[str, str, str | None]:
    """The address, whether it is verified, and the one that waits; Ben's is as it was."""
    ben = await read_user(tx, BEN)
    assert (ben.email, ben.email_state) == ("ben@example.org", "unverified")
    assert await email_addresses.load_pending_email(tx, BEN) == "ben@example.org"
    ann = await read_user(tx, ANN)
    return ann.email, ann.email_state, await email_addresses.load_pending_email(tx, ANN)


async def _ask(tx: Connection, email: str, *, has_mail: bool = True) -> VerificationCode | None:
    return await email_addresses.request_change(tx, ANN, email, has_mail=has_mail)


@pytest.mark.parametrize("state", ["verified", "pre_existing"])
async def test_an_address_that_gets_mail_stays_until_the_new_one_is_verified(
    people: Database, state: str
) -> None:
    async with people.transaction() as tx:
        await _state(tx, state)
        code = await _ask(tx, NEW)
        assert code is not None
        assert code.email == NEW
        assert await _kept(tx) == (OLD, state, NEW)
        done = await email_addresses.verify(tx, ANN, code.text)
        assert (done.user.email, done.user.email_state, done.replaced) == (NEW, "verified", OLD)
        assert await _kept(tx) == (NEW, "verified", None)
        # The address that is in force again needs no code, and nothing else waits.
        await _ask(tx, OLD)
        assert await _ask(tx, NEW.upper()) is None
        assert await _kept(tx) == (NEW.upper(), "verified", None)


async def test_an_address_that_gets_no_mail_is_replaced_at_once_and_is_not_verified(
    people: Database,
) -> None:
    async with people.transaction() as tx:
        code = await _ask(tx, NEW)
        assert code is not None
        assert await _kept(tx) == (NEW, "unverified", NEW)
        done = await email_addresses.verify(tx, ANN, code.text)
        # Nobody read mail at the one before, so there is nobody to notify.
        assert done.replaced is None
        assert done.user.email_state == "verified"
        await _state(tx, "verified", PLACEHOLDER)
        code = await _ask(tx, OLD)
        assert code is not None
        assert await _kept(tx) == (OLD, "unverified", OLD)
        assert (await email_addresses.verify(tx, ANN, code.text)).replaced is None


async def test_the_same_address_that_gets_no_mail_is_verified_by_a_code(people: Database) -> None:
    async with people.transaction() as tx:
        code = await _ask(tx, OLD)
        assert code is not None
        assert await _kept(tx) == (OLD, "unverified", OLD)


async def test_without_mail_an_address_is_set_and_nothing_waits(people: Database) -> None:
    async with people.transaction() as tx:
        await _state(tx, "verified")
        await _ask(tx, NEW)
        assert await _ask(tx, NEW, has_mail=False) is None
        assert await _kept(tx) == (NEW, "unverified", None)
        # What is no address gets no code.
        await _ask(tx, OLD)
        assert await _ask(tx, PLACEHOLDER) is None
        assert await _kept(tx) == (PLACEHOLDER, "unverified", None)


async def test_a_code_is_for_its_person_once_and_for_an_hour(people: Database) -> None:
    assert timedelta(hours=1) == email_addresses.LIFETIME
    async with people.transaction() as tx:
        await _state(tx, "verified")
        code = await _ask(tx, NEW)
        assert code is not None
        for person, text in ((BEN, code.text), (ANN, "AAAAA-AAAAA"), (ANN, "")):
            with pytest.raises(Expired) as refused:
                await email_addresses.verify(tx, person, text)
            assert refused.value.code == "wrong_code"
            assert refused.value.findings[0].pointer == "/code"
        assert await _kept(tx) == (OLD, "verified", NEW)
        # A newer code ends the one before.
        newer = await email_addresses.request_code(tx, ANN)
        assert newer.email == NEW
        with pytest.raises(Expired):
            await email_addresses.verify(tx, ANN, code.text)
        typed = newer.text.lower().replace("-", " ")
        assert (await email_addresses.verify(tx, ANN, typed)).user.email == NEW
        with pytest.raises(Expired):
            await email_addresses.verify(tx, ANN, newer.text)


async def test_a_code_that_expired_verifies_nothing(people: Database) -> None:
    async with people.transaction() as tx:
        await _state(tx, "verified")
        code = await _ask(tx, NEW)
        assert code is not None
        left = await tx.fetchval(
            "SELECT expires_at - created_at FROM email_verifications WHERE user_id = $1", ANN
        )
        assert left == timedelta(hours=1)
        await tx.execute(
            "UPDATE email_verifications SET expires_at = now() WHERE user_id = $1", ANN
        )
        assert await _kept(tx) == (OLD, "verified", None)
        with pytest.raises(Expired):
            await email_addresses.verify(tx, ANN, code.text)
        with pytest.raises(Conflict):
            await email_addresses.request_code(tx, ANN)


async def test_a_code_is_made_only_where_there_is_something_to_verify(people: Database) -> None:
    async with people.transaction() as tx:
        assert (await email_addresses.request_code(tx, ANN)).email == OLD
        await tx.execute("DELETE FROM email_verifications WHERE user_id = $1", ANN)
        await _state(tx, "pre_existing")
        assert (await email_addresses.request_code(tx, ANN)).email == OLD
        await tx.execute("DELETE FROM email_verifications WHERE user_id = $1", ANN)
        for state, email in (("verified", OLD), ("unverified", PLACEHOLDER.upper())):
            await _state(tx, state, email)
            with pytest.raises(Conflict) as refused:
                await email_addresses.request_code(tx, ANN)
            assert refused.value.code == "nothing_to_verify"
        await _ask(tx, NEW)
        assert (await email_addresses.request_code(tx, ANN)).email == NEW


async def test_an_address_of_somebody_else_is_refused_then_and_later(people: Database) -> None:
    async with people.transaction() as tx:
        await _state(tx, "verified")
        with pytest.raises(Conflict):
            await _ask(tx, "ben@example.org")
        code = await _ask(tx, NEW)
        assert code is not None
        await _state(tx, "verified", NEW, BEN)
        with pytest.raises(Conflict):
            await email_addresses.verify(tx, ANN, code.text)


async def test_nobody_is_notified_at_an_address_that_got_no_mail_or_stays(
    people: Database,
) -> None:
    async with people.transaction() as tx:
        await _state(tx, "pre_existing")
        code = await email_addresses.request_code(tx, ANN)
        assert (await email_addresses.verify(tx, ANN, code.text)).replaced is None
        waiting = await _ask(tx, NEW)
        assert waiting is not None
        await _state(tx, "unverified")
        assert (await email_addresses.verify(tx, ANN, waiting.text)).replaced is None


async def test_codes_and_tries_are_counted_for_each_person(people: Database) -> None:
    for most, count in ((5, email_addresses.count_code), (10, email_addresses.count_try)):
        for _ in range(most):
            await count(people, ANN)
        with pytest.raises(LimitExceeded) as refused:
            await count(people, ANN)
        assert refused.value.code == "too_many_tries"
        wait = refused.value.retry_after
        assert wait is not None
        assert wait > {5: 550, 10: 50}[most]
        assert wait <= {5: 600, 10: 60}[most]
        await count(people, BEN)
    # A right code forgets the tries before it.
    async with people.transaction() as tx:
        code = await email_addresses.request_code(tx, ANN)
        await email_addresses.verify(tx, ANN, code.text)
    await email_addresses.count_try(people, ANN)
    with pytest.raises(LimitExceeded):
        await email_addresses.count_code(people, ANN)


class _Mailer:
    def __init__(self, problem: UpstreamError | None = None) -> None:
        self.sent: list[tuple[Mail, str]] = []
        self.problem = problem

    async def send(self, mail: Mail, key: str, **more: Any) -> Any:
        if self.problem is not None:
            raise self.problem
        self.sent.append((mail, key))


async def test_a_code_goes_to_the_new_address_and_a_notice_to_the_old_one(people: Database) -> None:
    mailer: Any = _Mailer()
    code = VerificationCode(NEW, "ABCDE-FGHJK")
    await email_addresses.mail_code(mailer, "https://here.example/", code)
    ((mail, key),) = mailer.sent
    assert mail.to == (NEW,)
    assert "https://here.example/settings/you#verify=ABCDE-FGHJK" in mail.text
    assert "ABCDE" not in key
    async with people.transaction() as tx:
        user = await read_user(tx, ANN)
    mailer.sent.clear()
    await email_addresses.mail_change(mailer, VerifiedUser(user, None))
    assert mailer.sent == []
    await email_addresses.mail_change(mailer, VerifiedUser(user, "gone@example.org"))
    ((mail, _),) = mailer.sent
    assert mail.to == ("gone@example.org",)
    assert OLD in mail.text
    # A notice that cannot be sent undoes nothing.
    failing: Any = _Mailer(UpstreamError("no", code="no"))
    await email_addresses.mail_change(failing, VerifiedUser(user, "gone@example.org"))


async def test_a_code_has_fifty_bits_of_letters_that_are_not_confused(people: Database) -> None:
    async with people.transaction() as tx:
        seen = {(await email_addresses.request_code(tx, ANN)).text for _ in range(40)}
    assert len(seen) == 40
    mails = set("".join(seen).replace("-", ""))
    assert mails <= set("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
    assert {tuple(len(part) for part in one.split("-")) for one in seen} == {(5, 5)}
