"""Who may agree, what is asked and what may start, as the rows of one automation say it.

Another automation, and one with the same id in another workspace, are next to it in every test:
an answer about one changes nothing of the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import (
    Conflict,
    ConsentRequired,
    InternalError,
    NotFound,
    PermissionDenied,
)
from mainspring.contracts.ids import generate_id
from mainspring.definition.authority import AuthorityAddition, find_additions
from mainspring.definition.traits import UNDECLARED
from mainspring.store.database import Connection, Database
from mainspring.workspace import consents
from mainspring.workspace.automations import read_grants
from mainspring.workspace.consent_rows import (
    NOTHING_NEW,
    AutomationConsent,
    ConsentOrigin,
    ConsentStatus,
    compute_consent_digest,
    find_consent,
    keep_agreed,
    keep_covered,
    list_agreed_by_upgrade,
    list_consents,
    load_latest_consent,
    record_answer,
    remove_trigger_from_consent,
    renew_consent,
)
from mainspring.workspace.consents import NOTHING, AgreedAuthority
from mainspring.workspace.proposals import drop_proposal, store_proposal
from mainspring.workspace.repeat_consents import check_may_repeat, load_repeat_consent
from tests.kit.consent_rows import CLOCK, Version, put_automation, version
from tests.kit.run_rows import add_run
from tests.kit.tenants import add_workspace

pytestmark = pytest.mark.asyncio(loop_scope="module")
HERE, THERE = generate_id(), generate_id()
# The other one comes first, in the table and in every index.
OTHER, ONE = generate_id(), generate_id()
ANN, BEN = generate_id(), generate_id()
PERSON = Actor(HERE, "member", ANN)
AT_TERMINAL = replace(PERSON, at_terminal=True)
ASSISTANT = replace(PERSON, by_program=True)
CLIENT = Actor(HERE, "client", ANN, generate_id())
RUN = Actor(HERE, "run", generate_id())
A = AuthorityAddition("grant", "/grants", "It may send requests to a.example.", "http_fetch")
B = AuthorityAddition("grant", "/grants", "It may now send requests to b.example.", "http_fetch")
STARTS = AuthorityAddition("start", "/triggers/0", "It now starts once a day.")
# The same where nobody has agreed to anything yet.
NEW_AND_STARTS = (
    A,
    replace(B, says="It may send requests to b.example."),
    AuthorityAddition(
        "spend",
        "/execution/cost_cap_daily_usd",
        "It may spend up to $1.00 a day if its steps cost anything.",
    ),
    replace(STARTS, says="It starts once a day."),
)
NARROW, WIDE = version("a.example"), version("a.example", "b.example")
SAME = version("a.example", goal="Another.")


@pytest_asyncio.fixture(loop_scope="module")
async def rows(rolled_back: Database) -> Database:
    for space in (HERE, THERE):
        await add_workspace(rolled_back, space, "one of two")
    return rolled_back


async def _put(tx: Connection, *versions: Version, agreed: int | None = None, **more: Any) -> None:
    """The automation, with two others that are agreed to in another version."""
    if agreed is not None:
        more |= {"agreed_version": agreed, "agreed_by": BEN, "agreed_via": "page"}
    other = {"agreed_version": 7, "agreed_by": BEN, "agreed_via": "upgrade", "state": "active"}
    await put_automation(tx, HERE, OTHER, version("c.example", goal="Other."), **other)
    await put_automation(tx, THERE, ONE, version("d.example", goal="Theirs."), **other)
    await put_automation(tx, HERE, ONE, *versions, **more)


async def _kept(tx: Connection) -> tuple[Any, ...]:
    """What was agreed to, by whom and how; the automations next to it are as they were."""
    query = (
        "SELECT agreed_version, agreed_by, agreed_via, state, paused_reason FROM automations "
        "WHERE workspace_id = $1 AND id = $2"
    )
    for space, one in ((HERE, OTHER), (THERE, ONE)):
        (other,) = await tx.fetch(query, space, one)
        assert tuple(other) == (7, BEN, "upgrade", "active", None)
    (found,) = await tx.fetch(query, HERE, ONE)
    return tuple(found)


async def _asked(
    tx: Connection,
    about: int = 1,
    *,
    agreed: AgreedAuthority | None = None,
    origin: ConsentOrigin = "edit",
    added: tuple[AuthorityAddition, ...] = (A,),
    **more: Any,
) -> AutomationConsent:
    return await consents.ask_consent(
        tx, HERE, ONE, about, origin, added, CLIENT, agreed=agreed, **more
    )


async def _beside(tx: Connection, status: ConsentStatus = "waiting") -> tuple[UUID, UUID]:
    """A question about each of the automations next to it."""
    made = []
    for space, one in ((HERE, OTHER), (THERE, ONE)):
        found = await consents.ask_consent(tx, space, one, 1, "edit", (B,), CLIENT)
        if status != "waiting":
            await record_answer(tx, space, found, status, BEN)
        made.append(found.id)
        await tx.execute(
            "UPDATE automations SET agreed_version = 7, agreed_by = $3, agreed_via = 'upgrade', "
            "state = 'active', paused_reason = NULL WHERE workspace_id = $1 AND id = $2",
            space,
            one,
            BEN,
        )
    return made[0], made[1]


async def _messages(tx: Connection) -> list[tuple[str, str, str]]:
    found = await tx.fetch(
        "SELECT title, message, level FROM notifications WHERE workspace_id = $1 "
        "AND automation_id = $2 ORDER BY id",
        HERE,
        ONE,
    )
    return [tuple(row) for row in found]


async def _unread(tx: Connection) -> int:
    query = "SELECT count(*) FROM notifications WHERE automation_id = $1 AND read_at IS NULL"
    return int(await tx.fetchval(f"{query} AND workspace_id = $2", ONE, HERE))


async def _problem(tx: Connection, about: int = 1) -> ConsentRequired:
    with pytest.raises(ConsentRequired) as refused:
        await consents.check_agreed(tx, HERE, ONE, about)
    return refused.value


def _way(command: str) -> str:
    """Where a person answers, as a refusal says it."""
    where = "on the page of the automation"
    return f"A person reviews and answers it {where}, or with `mainspring {command}` at a terminal."


def _without_starts(agreed: AgreedAuthority) -> Any:
    return None if agreed.authority is None else agreed.authority.grants


@pytest.mark.parametrize(
    ("actor", "may"),
    [
        (PERSON, True),
        (AT_TERMINAL, True),
        (ASSISTANT, False),
        (CLIENT, False),
        (replace(CLIENT, approves=frozenset({ONE})), True),
        (replace(CLIENT, approves=frozenset({OTHER})), False),
        (replace(CLIENT, approves=frozenset()), False),
        (RUN, False),
        # The permission is a token's; nothing else has it.
        (replace(RUN, approves=frozenset({ONE})), False),
        (replace(ASSISTANT, approves=frozenset({ONE})), False),
    ],
)
async def test_a_person_agrees_and_of_programs_only_a_token_for_this_automation(
    actor: Actor, may: bool
) -> None:
    assert consents.may_agree(actor, ONE) is may


async def test_it_is_kept_how_somebody_agreed() -> None:
    assert consents.get_consent_channel(PERSON) == "page"
    assert consents.get_consent_channel(AT_TERMINAL) == "terminal"
    approving = replace(CLIENT, approves=frozenset({ONE}))
    assert consents.get_consent_channel(approving) == "token"
    for nobody in (CLIENT, replace(PERSON, by_program=True), replace(PERSON, chat="slack")):
        with pytest.raises(InternalError):
            consents.get_consent_channel(nobody)


async def test_what_a_program_adds_waits_and_what_it_takes_away_does_not(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        agreed = await consents.load_baseline(tx, HERE, ONE, CLIENT)
        assert agreed is not None
        assert agreed.version == 1
        await _in_force(tx, WIDE)
        asked = await consents.ask_if_wider(tx, HERE, ONE, agreed, CLIENT)
        assert asked is not None
        assert (asked.version, asked.origin, asked.agreed_version) == (2, "edit", 1)
        assert (asked.asked_kind, asked.asked_by) == ("client", ANN)
        assert asked.additions == (B,)
        assert await _kept(tx) == (1, BEN, "page", "paused", "consent")
        # Asked again, it is the same question, no matter who asks.
        assert await consents.ask_if_wider(tx, HERE, ONE, agreed, CLIENT) == asked
        assert await consents.ask_if_wider(tx, HERE, ONE, None, PERSON) == asked
        # A change that adds nothing leaves the question open.
        await consents.extend_agreement(tx, HERE, ONE)
        assert (await _kept(tx))[0] == 1
        await _in_force(tx, SAME)
        assert await consents.ask_if_wider(tx, HERE, ONE, agreed, CLIENT) is None
        assert await _kept(tx) == (3, BEN, "page", "paused", None)


async def _in_force(tx: Connection, one: Version) -> None:
    """Another version is saved, as a change does."""
    number = await tx.fetchval(
        "UPDATE automations SET version = version + 1 WHERE workspace_id = $1 AND id = $2 "
        "RETURNING version",
        HERE,
        ONE,
    )
    digest = generate_id().bytes * 2
    await tx.execute(
        "INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, $3)",
        HERE,
        digest,
        one.document,
    )
    await tx.execute(
        "INSERT INTO automation_versions (workspace_id, automation_id, version, definition_hash, "
        "grants, author) VALUES ($1, $2, $3, $4, $5, $6)",
        HERE,
        ONE,
        number,
        digest,
        one.grants,
        ANN,
    )


async def test_a_person_agrees_with_what_they_do_and_a_programs_new_one_waits(
    rows: Database,
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        assert await consents.agree_or_ask(tx, HERE, ONE, AT_TERMINAL) is None
        assert await _kept(tx) == (1, ANN, "terminal", "paused", None)
        await tx.execute(
            "UPDATE automations SET agreed_version = NULL, agreed_via = NULL "
            "WHERE workspace_id = $1 AND id = $2",
            HERE,
            ONE,
        )
        for actor in (CLIENT, ASSISTANT, RUN):
            asked = await consents.agree_or_ask(tx, HERE, ONE, actor)
            assert asked is not None
            assert (asked.origin, asked.agreed_version) == ("create", None)
            assert (asked.asked_kind, asked.asked_by) == (actor.kind, actor.id)
            assert A in asked.additions
            await tx.execute("DELETE FROM consents")
        assert await _kept(tx) == (None, None, None, "paused", "consent")


async def test_a_change_is_measured_by_what_was_agreed_to_before_it(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)

        async def widen() -> str:
            await _in_force(tx, WIDE)
            return "made"

        assert await consents.load_baseline(tx, HERE, ONE, PERSON) is None
        seen = await consents.load_baseline(tx, HERE, ONE, CLIENT)
        assert seen is not None
        assert seen.version == 1
        made, asked = await consents.change_by(tx, HERE, ONE, CLIENT, widen)
        assert (made, asked is None) == ("made", False)
        # What a person changes while it waits is asked about too.
        assert (await consents.change_by(tx, HERE, ONE, PERSON, widen))[1] is not None


async def test_what_was_agreed_to_last_is_read_from_the_version_and_the_open_question(
    rows: Database,
) -> None:
    async with rows.transaction() as tx:
        assert await consents.load_agreed_authority(tx, HERE, ONE) == NOTHING
        ticking = version("a.example", triggers=[CLOCK])
        await _put(tx, ticking)
        assert await consents.load_agreed_authority(tx, HERE, ONE) == NOTHING
        await consents.record_agreement(tx, HERE, ONE, 1, PERSON)
        found = await consents.load_agreed_authority(tx, HERE, ONE)
        assert (found.version, found.triggers) == (1, [CLOCK])
        (grant,) = _without_starts(found)
        assert grant.params == {"hosts": ["a.example"]}
        # A trigger that is switched off starts nothing.
        await tx.execute("UPDATE triggers SET enabled = false WHERE workspace_id = $1", HERE)
        off = await consents.load_agreed_authority(tx, HERE, ONE)
        assert off.triggers == [{**CLOCK, "enabled": False}]
        assert off.authority is not None
        assert found.authority is not None
        assert find_additions(off.authority, found.authority) != ()
        # A newer version that nobody was asked about is not agreed to.
        await _in_force(tx, WIDE)
        older = await consents.load_agreed_authority(tx, HERE, ONE)
        assert (older.version, older.triggers) == (1, None)
        assert _without_starts(older) == (grant,)
        # An open question says what was agreed to before it was asked.
        asked = await _asked(tx, 2, agreed=AgreedAuthority(1, None, ()))
        there = await consents.load_agreed_authority(tx, HERE, ONE)
        assert (there.version, there.triggers) == (1, [])
        assert _without_starts(there) == (grant,)
        await record_answer(tx, HERE, asked, "refused", ANN)
        assert await consents.load_agreed_authority(tx, HERE, ONE) == there
        # One that was refused says nothing about another version.
        await _in_force(tx, SAME)
        await keep_covered(tx, HERE, ONE)
        assert (await consents.load_agreed_authority(tx, HERE, ONE)).version == 3
        await _asked(tx, 3, agreed=NOTHING)
        assert await consents.load_agreed_authority(tx, HERE, ONE) == NOTHING


async def test_a_question_pauses_its_automation_and_one_waits_at_a_time(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, WIDE, state="active", agreed=1)
        other = await _beside(tx)
        first = await _asked(
            tx, 2, agreed=AgreedAuthority(1, None, (CLOCK,)), origin="import", added=()
        )
        assert [one.says for one in first.additions] == [NOTHING_NEW]
        assert (first.agreed_version, first.agreed_triggers) == (1, [CLOCK])
        assert await _kept(tx) == (1, BEN, "page", "paused", "consent")
        # A newer question is relative to the same version, and what came from elsewhere stays so.
        second = await _asked(tx, 2, added=(A, B))
        assert (second.agreed_version, second.agreed_triggers) == (1, [CLOCK])
        assert (second.origin, second.additions) == ("import", (A, B))
        assert (await find_consent(tx, HERE, first.id)).status == "overtaken"
        third = await _asked(tx, 2, origin="install", added=(A,))
        assert third.origin == "install"
        # A question about something else next to it says what it is asked about.
        fourth = await _asked(tx, 2, agreed=NOTHING, origin="upgrade")
        assert (fourth.origin, fourth.agreed_version) == ("install", None)
        assert await _kept(tx) == (None, None, None, "paused", "consent")
        for space, one, consent_id in ((HERE, OTHER, other[0]), (THERE, ONE, other[1])):
            found = await load_latest_consent(tx, space, one)
            assert found is not None
            assert (found.id, found.status, found.additions) == (consent_id, "waiting", (B,))


async def test_the_origin_of_an_answered_question_is_not_that_of_the_next(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, state="active")
        first = await _asked(tx, origin="import", agreed=AgreedAuthority(1, None, (CLOCK,)))
        await record_answer(tx, HERE, first, "agreed", ANN)
        second = await _asked(tx)
        assert (second.origin, second.agreed_version, second.agreed_triggers) == (
            "edit",
            None,
            None,
        )
        assert (await find_consent(tx, HERE, first.id)).status == "agreed"
        # Only what came from elsewhere stays what it was.
        assert (await _asked(tx, origin="upgrade")).origin == "upgrade"


async def test_what_is_archived_stays_archived_when_it_is_asked_about(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, state="archived", agreed=1)
        await _asked(tx)
        assert await _kept(tx) == (None, None, None, "archived", None)
        assert await list_consents(tx, HERE) == []
        # Nobody answers it before it is restored.
        asked = await _latest(tx)
        with pytest.raises(Conflict) as refused:
            await consents.answer_consent(tx, HERE, asked.id, asked.digest.hex(), ANN, agree=True)
        assert refused.value.code == "archived"
        # What is changed while it is archived is still compared.
        await consents.extend_agreement(tx, HERE, ONE)
        await consents.ensure_asked(tx, HERE, ONE, PERSON)
        assert await consents.ask_if_wider(tx, HERE, ONE, NOTHING, CLIENT) is not None


async def test_a_programs_change_that_adds_nothing_is_covered(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        agreed = await consents.load_baseline(tx, HERE, ONE, CLIENT)
        await _in_force(tx, SAME)
        assert await consents.ask_if_wider(tx, HERE, ONE, agreed, CLIENT) is None
        assert await _kept(tx) == (2, BEN, "page", "paused", None)
        assert await load_latest_consent(tx, HERE, ONE) is None


async def test_one_message_names_what_is_asked(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        many = tuple(replace(A, says=f"{number}.") for number in range(21))
        asked = await _asked(tx, added=many, origin="create")
        (result,) = await _messages(tx)
        assert result[0] == f"of {ONE} waits for your consent"
        lines = result[1].splitlines()
        assert lines[0] == "It was created by a program."
        assert lines[1:21] == [f"- {number}." for number in range(20)]
        assert lines[21:] == ["- and 1 more", "It does not start until you agree."]
        assert result[2] == "warning"
        # While it waits, another question adds no message.
        await _asked(tx, added=many[:20])
        assert len(await _messages(tx)) == 1
        await consents.answer_consent(
            tx, HERE, (await _latest(tx)).id, (await _latest(tx)).digest.hex(), ANN, agree=True
        )
        await _asked(tx, added=many[:20], tell=False)
        assert len(await _messages(tx)) == 1
        await record_answer(tx, HERE, await _latest(tx), "agreed", ANN)
        await _asked(tx, added=many[:20])
        assert "- and" not in (await _messages(tx))[1][1]
        assert asked.status == "waiting"


async def _latest(tx: Connection) -> AutomationConsent:
    found = await load_latest_consent(tx, HERE, ONE)
    assert found is not None
    return found


async def test_what_waits_or_was_refused_does_not_start_and_is_named(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, WIDE, agreed=2)
        await consents.check_agreed(tx, HERE, ONE, 2)
        assert await consents.pause_reason(tx, HERE, ONE, 2) is None
        asked = await _asked(tx, 2, agreed=AgreedAuthority(1, None), added=(B,))
        await tx.execute("UPDATE automations SET agreed_version = 2 WHERE agreed_version = 1")
        assert await consents.pause_reason(tx, HERE, ONE, 2) == "consent"
        waiting = await _problem(tx, 2)
        assert waiting.code == "consent_needed"
        assert [(one.pointer, one.detail, one.code) for one in waiting.findings] == [
            (B.pointer, B.says, "adds_grant")
        ]
        assert waiting.consent == {
            "consent_id": str(asked.id),
            "digest": asked.digest.hex(),
            "additions": [B.as_dict()],
            "url": f"/automations/{ONE}",
        }
        way = _way(f"consents agree {asked.id}")
        assert waiting.suggestion == way
        await record_answer(tx, HERE, asked, "refused", ANN)
        refused = await _problem(tx, 2)
        assert refused.code == "consent_refused"
        assert refused.suggestion == f"{way} Or restore an earlier version."
        again = await find_consent(tx, HERE, asked.id)
        assert refused.consent["digest"] == again.digest.hex() != asked.digest.hex()
        assert await consents.pause_reason(tx, HERE, ONE, 2) == "consent"
        # It was another version that was refused.
        assert await consents.pause_reason(tx, HERE, ONE, 1) is None
        await _beside(tx)
        await record_answer(tx, HERE, again, "agreed", ANN)
        await consents.check_agreed(tx, HERE, ONE, 2)


async def test_what_nobody_was_asked_about_does_not_start_either(rows: Database) -> None:
    async with rows.transaction() as tx:
        assert await consents.check_consent(tx, HERE, ONE, 1) is None
        await _put(tx, NARROW, WIDE, agreed=1)
        needed = await _problem(tx, 2)
        assert (needed.code, needed.consent["consent_id"]) == ("consent_needed", None)
        assert needed.consent["additions"] == [B.as_dict()]
        assert needed.suggestion == _way(f"activate {ONE}")
        await consents.ensure_asked(tx, HERE, ONE, PERSON)
        asked = await _latest(tx)
        # The refusal has named the digest that is asked about afterwards.
        assert needed.consent["digest"] == asked.digest.hex()
        assert (asked.origin, asked.version, asked.agreed_version) == ("edit", 2, 1)
        assert asked.additions == (B,)
        assert await _messages(tx) == []
        await consents.ensure_asked(tx, HERE, ONE, PERSON)
        assert await _latest(tx) == asked
        await record_answer(tx, HERE, asked, "agreed", ANN)
        await consents.ensure_asked(tx, HERE, ONE, PERSON)
        assert (await _latest(tx)).status == "agreed"
        await _in_force(tx, WIDE)
        # What an answered question says counts for its own version alone.
        await consents.ensure_asked(tx, HERE, ONE, PERSON)
        assert (await _latest(tx)).version == 3


async def test_what_nobody_ever_agreed_to_is_asked_about_as_new(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        await _beside(tx)
        await consents.ensure_asked(tx, HERE, ONE, PERSON)
        assert ((await _latest(tx)).origin, (await _latest(tx)).agreed_version) == ("create", None)


async def test_a_person_starts_what_they_were_shown_and_a_program_does_not(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        digest = "0" * 64
        assert await consents.agree_to_shown(tx, HERE, ONE, digest, PERSON) is None
        asked = await _asked(tx)
        digest = asked.digest.hex()
        for actor in (CLIENT, ASSISTANT, RUN, replace(CLIENT, approves=frozenset({ONE}))):
            assert await consents.agree_to_shown(tx, HERE, ONE, digest, actor) is None
        with pytest.raises(Conflict):
            await consents.agree_to_shown(tx, HERE, ONE, "0" * 64, PERSON)
        assert (await _kept(tx))[0] is None
        assert await consents.agree_to_shown(tx, HERE, ONE, digest, AT_TERMINAL) == asked.id
        assert await _kept(tx) == (1, ANN, "terminal", "paused", None)
        assert await consents.agree_to_shown(tx, HERE, ONE, digest, PERSON) is None


async def test_only_a_person_reviews_and_only_what_is_agreed_to(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        with pytest.raises(PermissionDenied) as refused:
            await consents.confirm_agreement(tx, HERE, ONE, CLIENT)
        assert refused.value.code == "person_needed"
        assert (await _kept(tx))[1] == BEN
        await consents.confirm_agreement(tx, HERE, ONE, PERSON)
        assert await _kept(tx) == (1, ANN, "page", "paused", None)
        await _asked(tx)
        with pytest.raises(ConsentRequired):
            await consents.confirm_agreement(tx, HERE, ONE, PERSON)


@pytest.mark.parametrize(
    ("ran", "mode", "as_mode", "agreed", "actor", "may"),
    [
        # What is agreed to now may run again, for anybody.
        (1, "live", None, 1, CLIENT, True),
        (1, "live", None, 2, PERSON, True),
        (2, "live", None, 1, PERSON, True),
        (2, "live", None, 1, None, True),
        (2, "live", None, 1, CLIENT, False),
        (2, "live", None, 1, ASSISTANT, False),
        (2, "live", "dry_run", 1, CLIENT, True),
        (2, "dry_run", None, 1, CLIENT, True),
        # What was only tried out was never for real.
        (2, "dry_run", "live", 1, PERSON, False),
        (2, "dry_run", "live", 1, None, False),
        (2, "dry_run", "live", 1, CLIENT, False),
        # An earlier version that may do no more.
        (1, "live", None, 2, CLIENT, True),
        (1, "dry_run", "live", 2, CLIENT, True),
        (2, "live", None, None, CLIENT, False),
    ],
)
async def test_an_old_run_is_repeated_only_within_what_is_agreed_to_now(
    rows: Database,
    ran: int,
    mode: str,
    as_mode: str | None,
    agreed: int | None,
    actor: Actor | None,
    may: bool,
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, version("a.example", "b.example", triggers=[CLOCK]), agreed=agreed)
    one = await _run(rows, ran, mode)
    async with rows.transaction() as tx:
        # What is agreed to of the other one says nothing about this one.
        await tx.execute("UPDATE automations SET agreed_version = $1 WHERE id = $2", ran, OTHER)
        if may:
            await check_may_repeat(tx, HERE, one, actor, as_mode)
            return
        with pytest.raises(ConsentRequired) as refused:
            await check_may_repeat(tx, HERE, one, actor, as_mode)
        # The version in force: the problem lists all that the person agrees to, and its start.
        added = (B, STARTS) if agreed else NEW_AND_STARTS
        digest = compute_consent_digest(ONE, 2, "edit" if agreed else "create", added)
        asked = await list_consents(tx, HERE)
        if actor is None:
            assert asked == []
            _check_told(refused.value, added, None, digest.hex(), f"activate {ONE}")
        else:
            # What nobody was asked about is asked about.
            assert [(one.digest, one.status) for one in asked] == [(digest, "waiting")]
            command = f"consents agree {asked[0].id}"
            _check_told(refused.value, added, asked[0].id, digest.hex(), command)


def _check_told(
    problem: ConsentRequired,
    added: tuple[AuthorityAddition, ...],
    consent_id: UUID | None,
    digest: str | None,
    command: str,
    url: str = f"/automations/{ONE}",
) -> None:
    """Everything that a refusal to repeat a run says."""
    assert problem.code == "consent_needed"
    assert [(one.pointer, one.detail, one.code) for one in problem.findings] == [
        (one.pointer, one.says, f"adds_{one.kind}") for one in added
    ]
    assert problem.consent == {
        "consent_id": None if consent_id is None else str(consent_id),
        "digest": digest,
        "additions": [one.as_dict() for one in added],
        "url": url,
    }
    assert problem.suggestion == _way(command)


@pytest.mark.parametrize("own_file", [False, True])
async def test_a_run_of_an_older_version_names_what_that_would_add(
    rows: Database, own_file: bool
) -> None:
    wide = version("a.example", "b.example", triggers=[CLOCK])
    async with rows.transaction() as tx:
        await _put(tx, wide, NARROW, agreed=2)
    one = await _run(rows, 1, "live")
    async with rows.transaction() as tx:
        for waits in (False, True):
            if waits:
                # What is asked about the version in force says nothing about another one.
                await _asked(tx, 2, agreed=AgreedAuthority(2, None))
            before = await list_consents(tx, HERE)
            with pytest.raises(ConsentRequired) as refused:
                await check_may_repeat(tx, HERE, one, CLIENT, own_file=own_file)
            # What starts it says nothing about a run that was started.
            asked = await load_repeat_consent(tx, HERE, one)
            assert asked is not None
            assert (asked.status, asked.additions) == ("waiting", (B,))
            command, digest = f"consents agree {one}", asked.digest.hex()
            _check_told(refused.value, (B,), one, digest, command, f"/runs/{one}")
            # The question is listed with the others, and asked once.
            others = [found for found in before if found.id != asked.id]
            after = await list_consents(tx, HERE)
            assert [found for found in after if found.id != asked.id] == others
            assert [found.id for found in after].count(asked.id) == 1
            # A person may, as what ran for real before.
            await check_may_repeat(tx, HERE, one, PERSON, own_file=own_file)


@pytest.mark.parametrize("actor", [CLIENT, ASSISTANT])
async def test_a_command_goes_on_with_a_live_run_of_the_version_in_force(
    rows: Database, actor: Actor
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, version("a.example", "b.example", triggers=[CLOCK]), agreed=1)
    live, tried = await _run(rows, 2, "live"), await _run(rows, 2, "dry_run")
    async with rows.transaction() as tx:
        asked = await _asked(tx, 2, agreed=AgreedAuthority(1, None), added=(B, STARTS))
        await check_may_repeat(tx, HERE, live, actor, own_file=True)
        # Elsewhere, and for what was only tried out, it is the open question that is named.
        for run_id, mode, own_file in ((live, None, False), (tried, "live", True)):
            with pytest.raises(ConsentRequired) as refused:
                await check_may_repeat(tx, HERE, run_id, actor, mode, own_file=own_file)
            digest = asked.digest.hex()
            _check_told(refused.value, (B, STARTS), asked.id, digest, f"consents agree {asked.id}")
        assert await list_consents(tx, HERE) == [asked]


async def _run(rows: Database, ran: int, mode: str) -> UUID:
    made = await add_run(rows, HERE, ONE, version=ran, mode=mode)
    # Others next to it, which no answer is about.
    await add_run(rows, THERE, ONE, id=made, version=1, mode="dry_run")
    await add_run(rows, HERE, OTHER, version=1, mode="dry_run")
    return made


async def test_a_run_that_is_not_there_is_not_judged(rows: Database) -> None:
    async with rows.transaction() as tx:
        await check_may_repeat(tx, HERE, generate_id(), CLIENT)


@pytest.mark.parametrize("agree", [True, False])
async def test_an_answer_is_to_exactly_what_was_shown(rows: Database, agree: bool) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        other = await _beside(tx)
        asked = await _asked(tx)
        digest = asked.digest.hex()
        with pytest.raises(Conflict) as changed:
            await consents.answer_consent(tx, HERE, asked.id, "0" * 64, ANN, agree=agree)
        assert changed.value.code == "consent_changed"
        assert digest in str(changed.value.suggestion)
        with pytest.raises(NotFound):
            await consents.answer_consent(tx, THERE, asked.id, digest, ANN, agree=agree)
        found, is_new = await consents.answer_consent(
            tx, HERE, asked.id, digest, ANN, agree=agree, via="token"
        )
        assert (found.status, is_new) == ("agreed" if agree else "refused", True)
        assert (found.answered_by, found.answered_at is None) == (ANN, False)
        stored = (
            (1, ANN, "token", "paused", None)
            if agree
            else (
                None,
                None,
                None,
                "paused",
                "consent",
            )
        )
        assert await _kept(tx) == stored
        # The same answer again changes nothing.
        same = await consents.answer_consent(tx, HERE, asked.id, "0" * 64, BEN, agree=agree)
        assert same == (found, False)
        assert await _kept(tx) == stored
        for space, consent_id in zip((HERE, THERE), other, strict=True):
            assert (await find_consent(tx, space, consent_id)).status == "waiting"
        assert await _unread(tx) == 0


async def test_what_was_refused_can_still_be_agreed_to_and_not_the_reverse(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        asked = await _asked(tx)
        digest = asked.digest.hex()
        refused, _ = await consents.answer_consent(tx, HERE, asked.id, digest, ANN, agree=False)
        with pytest.raises(Conflict) as stale:
            await consents.answer_consent(tx, HERE, asked.id, digest, ANN, agree=True)
        assert stale.value.code == "consent_answered"
        now = refused.digest.hex()
        assert now != digest
        assert (await consents.answer_consent(tx, HERE, asked.id, now, ANN, agree=True))[1]
        assert (await _kept(tx))[2] == "page"
        with pytest.raises(Conflict) as late:
            await consents.answer_consent(tx, HERE, asked.id, now, ANN, agree=False)
        assert late.value.code == "consent_answered"


@pytest.mark.parametrize(
    ("then", "shown"),
    [("waiting", True), ("refused", True), ("agreed", False), ("overtaken", False)],
)
async def test_an_older_question_is_not_answered_any_more(
    rows: Database, then: Literal["waiting", "refused", "agreed", "overtaken"], shown: bool
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        older = await _asked(tx)
        refused, _ = await consents.answer_consent(
            tx, HERE, older.id, older.digest.hex(), ANN, agree=False
        )
        newer = await _asked(tx, added=(B,))
        if then != "waiting":
            await record_answer(tx, HERE, newer, then, ANN)
        with pytest.raises(Conflict) as stale:
            await consents.answer_consent(tx, HERE, older.id, refused.digest.hex(), ANN, agree=True)
        assert stale.value.code == "consent_overtaken"
        assert stale.value.suggestion == (f"Read {newer.id} instead." if shown else None)
        if then == "overtaken":
            with pytest.raises(Conflict) as last:
                await consents.answer_consent(
                    tx, HERE, newer.id, newer.digest.hex(), ANN, agree=True
                )
            assert (last.value.code, last.value.suggestion) == ("consent_overtaken", None)


async def test_a_version_that_was_read_elsewhere_settles_its_question(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        asked = await _asked(tx)
        await consents.record_agreement(tx, HERE, ONE, 1, AT_TERMINAL)
        assert (await find_consent(tx, HERE, asked.id)).status == "agreed"
        assert await _kept(tx) == (1, ANN, "terminal", "paused", None)
        await _in_force(tx, WIDE)
        await consents.record_agreement(tx, HERE, ONE, 2, PERSON)
        assert await _kept(tx) == (2, ANN, "page", "paused", None)
        # What was refused in another version stays refused.
        other = await _asked(tx, 2)
        await record_answer(tx, HERE, other, "refused", ANN)
        await _in_force(tx, WIDE)
        await consents.record_agreement(tx, HERE, ONE, 3, PERSON)
        assert (await find_consent(tx, HERE, other.id)).status == "refused"


async def test_a_change_that_adds_nothing_is_covered_by_an_answered_question(
    rows: Database,
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        await _in_force(tx, SAME)
        await consents.extend_agreement(tx, HERE, ONE)
        assert (await _kept(tx))[0] == 2
        asked = await _asked(tx, 2, agreed=AgreedAuthority(1, None))
        await record_answer(tx, HERE, asked, "refused", ANN)
        await _in_force(tx, SAME)
        await consents.extend_agreement(tx, HERE, ONE)
        assert (await _kept(tx))[0] == 3


async def test_nothing_is_covered_where_nobody_has_agreed(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, paused_reason="owner_left")
        await consents.extend_agreement(tx, HERE, ONE)
        assert await _kept(tx) == (None, None, None, "paused", "owner_left")
        await consents.record_agreement(tx, HERE, ONE, 1, PERSON)
        assert await _kept(tx) == (1, ANN, "page", "paused", "owner_left")


async def test_every_surface_shows_the_same_of_a_question(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        asked = await _asked(tx)
        shown = consents.format_consent(asked)
        assert shown["asked_at"] == asked.created_at.isoformat()
        assert (shown["answered_at"], shown["connection_id"]) == (None, None)
        assert consents.summarize_consent(None) is None
        assert consents.summarize_consent(asked) == {
            "consent_id": str(asked.id),
            "digest": asked.digest.hex(),
            "additions": [A.as_dict()],
        }
        await record_answer(tx, HERE, asked, "agreed", ANN)
        found = await find_consent(tx, HERE, asked.id)
        assert found.answered_at is not None
        assert consents.format_consent(found)["answered_at"] == found.answered_at.isoformat()


async def test_an_open_question_is_asked_anew_about_what_is_in_force(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        for origin in ("edit", "import"):
            await _check_renewed(tx, origin)


async def _check_renewed(tx: Connection, origin: ConsentOrigin) -> None:
    async def again(number: int, one: Version) -> AutomationConsent:
        await renew_consent(tx, HERE, ONE, number, number, one.document, one.grants, UNDECLARED)
        return await _latest(tx)

    asked = await _asked(tx, 1, agreed=AgreedAuthority(1, None), origin=origin, added=(B,))
    # About the same version with the same additions it is the same question.
    assert await again(1, WIDE) == asked
    assert await _unread(tx) == 1
    # About another version it is the same question too: the answer is given to a new digest.
    renewed = asked
    for number in (12, 1, 2):
        renewed = await again(number, WIDE)
        digest = compute_consent_digest(ONE, number, origin, (B,))
        assert renewed == replace(asked, version=number, digest=digest)
    assert await _unread(tx) == 1
    assert (renewed.version, renewed.additions, renewed.origin) == (2, (B,), origin)
    assert (renewed.agreed_version, renewed.asked_kind) == (1, "client")
    further = await again(2, version("a.example", "b.example", "c.example"))
    assert further.id != renewed.id
    assert (await find_consent(tx, HERE, renewed.id)).status == "overtaken"
    assert [one.says for one in further.additions] == [
        "It may now send requests to b.example.",
        "It may now send requests to c.example.",
    ]
    same = await again(2, SAME)
    if origin == "import":
        # What came from elsewhere is looked at, until what was agreed to is back.
        assert [one.says for one in same.additions] == [NOTHING_NEW]
        same = await again(2, replace(NARROW, grants=[*NARROW.grants, *NARROW.grants]))
        assert same.status == "waiting"
        same = await again(2, NARROW)
    assert same.status == "overtaken"
    assert await _unread(tx) == 0
    assert (await _kept(tx))[0] == 1
    assert await again(2, WIDE) == same


async def test_what_came_from_elsewhere_is_back_whichever_of_its_triggers_are_on(
    rows: Database,
) -> None:
    ticking = version("a.example", triggers=[CLOCK])
    async with rows.transaction() as tx:
        await _put(tx, ticking, agreed=1)
        await _asked(tx, 1, agreed=AgreedAuthority(1, None, (CLOCK,)), origin="import")
        off = version("a.example", triggers=[{**CLOCK, "enabled": False}])
        await renew_consent(tx, HERE, ONE, 1, 2, off.document, off.grants, UNDECLARED)
        assert (await _latest(tx)).status == "overtaken"
        # A version that is gone says nothing about what was agreed to.
        await _asked(tx, 1, agreed=AgreedAuthority(9, None), origin="import")
        assert await consents.load_agreed_authority(tx, HERE, ONE) == AgreedAuthority(9, None)
        await renew_consent(tx, HERE, ONE, 1, 2, off.document, off.grants, UNDECLARED)
        assert A in (await _latest(tx)).additions


async def test_a_refusal_blocks_its_own_version_alone(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        asked = await _asked(tx)
    cases: list[tuple[ConsentStatus, int, bool]] = [
        ("waiting", 1, True),
        ("waiting", 12, True),
        ("refused", 1, True),
        ("refused", 12, False),
        ("agreed", 1, False),
        ("overtaken", 1, False),
    ]
    for status, number, blocks in cases:
        assert replace(asked, status=status).blocks(number) is blocks
    assert replace(asked, status="refused", version=12).blocks(1) is False


async def test_a_refused_question_is_renewed_for_its_own_version_alone(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        asked = await _asked(tx, 1, agreed=AgreedAuthority(1, None), added=(B,))
        await record_answer(tx, HERE, asked, "refused", ANN)
        await renew_consent(tx, HERE, ONE, 2, 2, WIDE.document, WIDE.grants, UNDECLARED)
        assert (await _latest(tx)).status == "refused"
        await renew_consent(tx, HERE, ONE, 1, 2, WIDE.document, WIDE.grants, UNDECLARED)
        assert (await _latest(tx)).status == "waiting"


async def test_a_trigger_that_is_switched_off_is_not_agreed_to_any_more(rows: Database) -> None:
    other = {**CLOCK, "id": "other"}
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        another = await _beside(tx)
        await remove_trigger_from_consent(tx, HERE, ONE, "clock")
        await _asked(tx)
        await remove_trigger_from_consent(tx, HERE, ONE, "clock")
        assert (await _latest(tx)).agreed_triggers is None
        await _asked(tx, agreed=AgreedAuthority(1, None, (CLOCK, other)))
        await remove_trigger_from_consent(tx, HERE, ONE, "clock")
        off = [{**CLOCK, "enabled": False}, other]
        assert (await _latest(tx)).agreed_triggers == off
        for space, consent_id in zip((HERE, THERE), another, strict=True):
            assert (await find_consent(tx, space, consent_id)).agreed_triggers is None
        await record_answer(tx, HERE, await _latest(tx), "refused", ANN)
        await remove_trigger_from_consent(tx, HERE, ONE, "other")
        both = [off[0], {**other, "enabled": False}]
        assert (await _latest(tx)).agreed_triggers == both
        await record_answer(tx, HERE, await _latest(tx), "agreed", ANN)
        await tx.execute("UPDATE consents SET agreed_triggers = $1", [CLOCK])
        await remove_trigger_from_consent(tx, HERE, ONE, "clock")
        assert (await _latest(tx)).agreed_triggers == [CLOCK]


async def test_consents_are_listed_by_workspace_status_and_automation(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        other, theirs = await _beside(tx)
        first = await _asked(tx)
        second = await _asked(tx, added=(B,))

        async def listed(*value: Any) -> list[UUID]:
            return [one.id for one in await list_consents(tx, HERE, *value)]

        assert await listed() == [second.id, first.id, other]
        assert await listed("waiting") == [second.id, other]
        assert await listed("overtaken", ONE) == [first.id]
        assert await listed(None, ONE) == [second.id, first.id]
        assert await listed(None, None, 1) == [second.id]
        assert [one.id for one in await list_consents(tx, THERE)] == [theirs]
        with pytest.raises(NotFound):
            await find_consent(tx, HERE, theirs)


async def test_what_an_upgrade_carried_over_is_listed_until_somebody_looks(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        (listed,) = await list_agreed_by_upgrade(tx, HERE, None, 10)
        assert listed == {"automation_id": str(OTHER), "name": f"of {OTHER}", "version": 7}
        assert await list_agreed_by_upgrade(tx, HERE, ONE, 10) == []
        assert await list_agreed_by_upgrade(tx, HERE, OTHER, 10) == [listed]
        await tx.execute("UPDATE automations SET state = 'archived' WHERE id = $1", OTHER)
        assert await list_agreed_by_upgrade(tx, HERE, None, 10) == []


async def test_a_digest_is_of_everything_that_was_shown() -> None:
    digest = compute_consent_digest(ONE, 1, "edit", (A,))
    assert digest == compute_consent_digest(ONE, 1, "edit", (A,), refused=False)
    others = [
        compute_consent_digest(OTHER, 1, "edit", (A,)),
        compute_consent_digest(ONE, 2, "edit", (A,)),
        compute_consent_digest(ONE, 1, "import", (A,)),
        compute_consent_digest(ONE, 1, "edit", (A, B)),
        compute_consent_digest(ONE, 1, "edit", (replace(A, capability=""),)),
        compute_consent_digest(ONE, 1, "edit", (A,), refused=True),
    ]
    assert len({digest, *others}) == 7


async def test_what_a_program_adds_leaves_a_message_unless_its_caller_says_otherwise(
    rows: Database,
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        agreed = await consents.load_baseline(tx, HERE, ONE, CLIENT)
        await _in_force(tx, WIDE)
        asked = await consents.ask_if_wider(tx, HERE, ONE, agreed, CLIENT, tell=False)
        assert asked is not None
        assert await _messages(tx) == []
        await tx.execute("DELETE FROM consents")
        assert await consents.ask_if_wider(tx, HERE, ONE, agreed, CLIENT) is not None
        assert len(await _messages(tx)) == 1


async def test_a_definition_is_compared_with_what_was_agreed_to_before_it_is_saved() -> None:
    document, grants = WIDE.document, read_grants(WIDE.grants)
    narrow = await consents.find_consent_additions(
        NOTHING, NARROW.document, read_grants(NARROW.grants), UNDECLARED
    )
    wide = await consents.find_consent_additions(NOTHING, document, grants, UNDECLARED)
    assert A in narrow
    assert set(wide) - set(narrow) == {replace(B, says="It may send requests to b.example.")}


@pytest.mark.parametrize(("about", "in_force"), [(1, 2), (1, 12), (12, 1)])
async def test_a_question_about_another_version_than_the_one_in_force_is_not_answered(
    rows: Database, about: int, in_force: int
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, *[NARROW] * in_force)
        asked = await _asked(tx, about)
        for agree in (True, False):
            with pytest.raises(Conflict) as stale:
                await consents.answer_consent(
                    tx, HERE, asked.id, asked.digest.hex(), ANN, agree=agree
                )
            assert stale.value.code == "consent_overtaken"
        assert (await _latest(tx)).status == "waiting"
        assert (await _kept(tx))[0] is None


async def test_a_proposal_that_a_program_saved_is_marked_until_the_question_is_answered(
    rows: Database,
) -> None:
    def is_marked(asked: AutomationConsent) -> bool:
        return any("a request in words" in one.says for one in asked.additions)

    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        assert not is_marked(await _asked(tx))
        body = {"document": NARROW.document}
        proposal = await store_proposal(tx, HERE, ANN, body, None)
        assert is_marked(await _asked(tx))
        # It stays marked without the proposal, as long as nobody has answered.
        await drop_proposal(tx, HERE, proposal.id)
        asked = await _asked(tx, added=(A, B))
        assert is_marked(asked)
        assert asked.additions[:-1] == (A, B)
        await record_answer(tx, HERE, asked, "agreed", ANN)
        assert not is_marked(await _asked(tx))


async def test_a_question_about_a_run_names_the_run(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, WIDE, NARROW, agreed=2)
    run_id = await _run(rows, 1, "live")
    async with rows.transaction() as tx:
        asked = await load_repeat_consent(tx, HERE, run_id)
        assert asked is not None
        shown = consents.format_consent(asked)
        assert (shown["run_id"], shown["consent_id"]) == (str(run_id), str(run_id))
        # What somebody else asked is about no run.
        for kind in ("client", "repeated", "rep"):
            other = consents.format_consent(replace(asked, asked_kind=kind))
            assert other == {**shown, "run_id": None}


async def test_what_a_program_saves_of_a_proposal_marks_an_open_question(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        agreed = await consents.load_baseline(tx, HERE, ONE, CLIENT)
        await _in_force(tx, WIDE)
        await _asked(tx, 2, agreed=AgreedAuthority(1, None), added=(B,))
        await store_proposal(tx, HERE, ANN, {"document": WIDE.document}, None)
        await renew_consent(tx, HERE, ONE, 2, 2, WIDE.document, WIDE.grants, UNDECLARED)
        assert (await _latest(tx)).additions == (B,)
        # What a person saves is not from words, although it has the steps of the proposal.
        by_person = await consents.ask_if_wider(tx, HERE, ONE, None, PERSON)
        assert by_person is not None
        assert by_person.additions == (B,)
        by_program = await consents.ask_if_wider(tx, HERE, ONE, agreed, CLIENT)
        assert by_program is not None
        assert by_program.additions[:-1] == (B,)
        assert by_program.additions[-1].capability == "propose_automation"


async def test_an_archived_automation_is_changed_and_compared_too(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, state="archived", agreed=1)
        _, asked = await consents.change_by(tx, HERE, ONE, CLIENT, lambda: _in_force(tx, WIDE))
        assert asked is not None
        assert asked.additions == (B,)
        assert (await _kept(tx))[3] == "archived"


async def test_the_same_question_about_a_newer_version_keeps_its_id(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, SAME)
        first = await _asked(tx, 1)
        again = await _asked(tx, 2)
        assert (again.id, again.version, first.version) == (first.id, 2, 1)
        assert (await _asked(tx, 2, added=(B,))).id != first.id


async def test_a_new_agreement_ends_questions_about_runs_beyond_the_one_before(
    rows: Database,
) -> None:
    async with rows.transaction() as tx:
        await _put(tx, WIDE, NARROW, agreed=2)
    run_id = await _run(rows, 1, "live")
    async with rows.transaction() as tx:
        with pytest.raises(ConsentRequired):
            await check_may_repeat(tx, HERE, run_id, CLIENT)
        assert (await find_consent(tx, HERE, run_id)).status == "waiting"
        # A change that adds nothing is no new agreement.
        await keep_covered(tx, HERE, ONE)
        assert (await find_consent(tx, HERE, run_id)).status == "waiting"
        await keep_agreed(tx, HERE, ONE, ANN, "page")
        assert (await find_consent(tx, HERE, run_id)).status == "overtaken"


async def test_a_question_that_is_not_needed_any_more_leaves_the_agreement(rows: Database) -> None:
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        await _in_force(tx, SAME)
        await _asked(tx, 2, agreed=AgreedAuthority(1, None), added=(B,))
        assert await _kept(tx) == (1, BEN, "page", "paused", "consent")
        await renew_consent(tx, HERE, ONE, 2, 2, SAME.document, SAME.grants, UNDECLARED)
        assert (await _latest(tx)).status == "overtaken"
        assert await _kept(tx) == (2, BEN, "page", "paused", None)


async def test_a_marked_question_stays_marked_when_a_person_saves_another_version(
    rows: Database,
) -> None:
    wider = version("a.example", "b.example", "c.example")
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        await _in_force(tx, WIDE)
        proposal = await store_proposal(tx, HERE, ANN, {"document": WIDE.document}, None)
        await _asked(tx, 2, agreed=AgreedAuthority(1, None), added=(B,))
        await drop_proposal(tx, HERE, proposal.id)
        await renew_consent(tx, HERE, ONE, 2, 2, wider.document, wider.grants, UNDECLARED)
        asked = await _latest(tx)
        assert len(asked.additions) == 3
        assert asked.additions[-1].capability == "propose_automation"


async def test_an_agreement_keeps_the_names_that_were_shown_and_a_refusal_does_not(
    rows: Database,
) -> None:
    board = generate_id()
    reads = AuthorityAddition("grant", "/grants", f"It may read the board {board}.")
    async with rows.transaction() as tx:
        await _put(tx, NARROW)
        await tx.execute(
            "INSERT INTO boards (workspace_id, id, name, created_by_kind, created_by) "
            "VALUES ($1, $2, 'Leads', 'member', $3)",
            HERE,
            board,
            ANN,
        )
        answers: list[tuple[ConsentStatus, bool]] = [("agreed", True), ("refused", False)]
        for status, is_named in answers:
            asked = await _asked(tx, added=(reads,))
            assert "Leads" in asked.additions[0].says
            await record_answer(tx, HERE, asked, status, ANN)
            query = "SELECT additions FROM consents WHERE workspace_id = $1 AND id = $2"
            (kept,) = await tx.fetchval(query, HERE, asked.id)
            assert ("Leads" in kept["says"]) is is_named


async def test_a_question_measured_by_other_triggers_is_another_one(rows: Database) -> None:
    other = AgreedAuthority(1, None, ({**CLOCK, "enabled": False},))
    async with rows.transaction() as tx:
        await _put(tx, NARROW, agreed=1)
        first = await _asked(tx, agreed=AgreedAuthority(1, None, (CLOCK,)))
        assert await _asked(tx, agreed=AgreedAuthority(1, None, (CLOCK,))) == first
        assert (await _asked(tx, agreed=other)).id != first.id
