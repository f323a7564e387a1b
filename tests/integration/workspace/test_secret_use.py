"""An automation uses its owner's secrets: nobody else can send them anywhere new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.definition.validate import ValidationReport, validate
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_states import activate
from mainspring.workspace.automations import FIRST_MEMBER, SavedAutomation, create, update
from mainspring.workspace.import_export import import_validated, validate_import
from mainspring.workspace.vault import SecretScope
from mainspring.workspace.versions import rollback
from tests.kit.bench import Bench, document, step
from tests.kit.gate import Market, gate_bench
from tests.kit.loopback_doubles import always, answer, local_server
from tests.kit.members import member

LIMITS = Limits()
OTHER = generate_id()


def _fetch(step_id: str, host: str, *secrets: str, path: str = "", **config: Any) -> dict[str, Any]:
    headers = {f"X-{name}": f"{{{{ secrets.{name} }}}}" for name in secrets}
    return step(
        step_id, "http_fetch", {"url": f"https://{host}/{path}", "headers": headers, **config}
    )


BEFORE = document(_fetch("a", "one.test", "first"), _fetch("b", "two.test", "second"))


def _judged(bench: Bench, changed: Mapping[str, Any]) -> ValidationReport:
    report = validate(changed, bench.application.registry, LIMITS)
    assert report.ok, report.findings
    return report


async def _create(
    bench: Bench, made: Mapping[str, Any], author: UUID = FIRST_MEMBER
) -> SavedAutomation:
    report = _judged(bench, made)
    async with bench.application.database.transaction() as tx:
        space = bench.application.workspace_id
        return await create(tx, space, report.accepted(), report.grants, author, via="page")


async def _update(
    bench: Bench, saved: SavedAutomation, changed: Mapping[str, Any], author: UUID
) -> SavedAutomation:
    report = _judged(bench, changed)
    async with bench.application.database.transaction() as tx:
        return await update(
            tx,
            bench.application.workspace_id,
            saved.automation_id,
            report.accepted(),
            report.grants,
            author,
            via="page",
        )


FURTHER = {
    "a new host": document(*BEFORE["plan"], _fetch("c", "three.test")),
    "a secret to a new host": document(BEFORE["plan"][0], _fetch("b", "three.test", "second")),
    "a new name": document(BEFORE["plan"][0], _fetch("b", "two.test", "second", "third")),
    "a secret from a header to the query": document(
        _fetch("a", "one.test", query={"key": "{{ secrets.first }}"}), BEFORE["plan"][1]
    ),
    "a secret from a header to the address": document(
        _fetch("a", "one.test", path="{{ secrets.first }}"), BEFORE["plan"][1]
    ),
    "a secret to the other's host": document(
        _fetch("a", "one.test", "first"), _fetch("b", "two.test", "first")
    ),
    "a host that a template says": document(
        step(
            "a",
            "http_fetch",
            {
                "url": "https://{{ inputs.host }}/",
                "headers": {"X-Key": "{{ secrets.first }}"},
            },
        ),
        _fetch("b", "two.test", "second"),
        inputs={
            "schema": {
                "type": "object",
                "properties": {"host": {"type": "string"}},
                "required": ["host"],
            }
        },
        grants=[{"capability": "http_fetch", "params": {"hosts": ["one.test", "two.test"]}}],
    ),
    "another capability": document(*BEFORE["plan"], step("c", "notification", {"title": "t"})),
    "inside a loop": document(
        *BEFORE["plan"],
        step("c", "for_each", {"items": "{{ [1] }}", "steps": [_fetch("d", "two.test", "first")]}),
    ),
    "after a failure": document(
        *BEFORE["plan"], execution={"on_failure": [_fetch("z", "two.test", "first")]}
    ),
    "a webhook's signature": document(
        *BEFORE["plan"],
        triggers=[{"type": "webhook", "config": {"signature": {"secret": "third"}}}],
    ),
}
NARROWER = {
    "another path": document(
        _fetch("a", "one.test", "first", path="other"), _fetch("b", "two.test", "second")
    ),
    "fewer secrets": document(_fetch("a", "one.test"), _fetch("b", "two.test", "second")),
    "fewer hosts": document(_fetch("a", "one.test", "first")),
    "another goal": document(*BEFORE["plan"], goal="Show it better."),
}


async def test_somebody_else_may_narrow_and_never_widen(bench: Bench) -> None:
    for name, written in FURTHER.items():
        made = await _create(bench, {**BEFORE, "name": name})
        changed = {**written, "name": name}
        with pytest.raises(PermissionDenied) as refused:
            await _update(bench, made, changed, OTHER)
        assert refused.value.code == "secrets_widened", name
        assert refused.value.findings, name
        assert "its owner" in (refused.value.suggestion or "")
        # The owner may; a copy belongs to the member who made it.
        assert (await _update(bench, made, changed, FIRST_MEMBER)).version == 2
        await _create(bench, {**changed, "name": f"{name}, mine"}, OTHER)
    for name, written in NARROWER.items():
        made = await _create(bench, {**BEFORE, "name": f"narrow {name}"})
        changed = {**written, "name": f"narrow {name}"}
        assert (await _update(bench, made, changed, OTHER)).version == 2, name


async def test_two_steps_of_narrow_and_wide_are_no_way_around(bench: Bench) -> None:
    made = await _create(bench, BEFORE)
    bare = document(_fetch("a", "one.test"), _fetch("c", "three.test"))

    # Without secrets the hosts are free; with those hosts the secrets are not.
    assert (await _update(bench, made, bare, OTHER)).version == 2
    with pytest.raises(PermissionDenied):
        await _update(bench, made, document(_fetch("a", "three.test", "first")), OTHER)
    with pytest.raises(PermissionDenied):
        await _update(bench, made, BEFORE, OTHER)


async def test_going_back_and_importing_obey_the_same_rule(bench: Bench) -> None:
    application = bench.application
    made = await _create(bench, BEFORE)
    narrow = document(_fetch("a", "one.test", "first"))
    await _update(bench, made, narrow, FIRST_MEMBER)
    again = (application.workspace_id, made.automation_id, 1)

    with pytest.raises(PermissionDenied):
        async with application.database.transaction() as tx:
            await rollback(tx, *again, OTHER, application.registry, LIMITS)
    candidates = await validate_import(BEFORE, application.registry, LIMITS)
    with pytest.raises(PermissionDenied):
        async with application.database.transaction() as tx:
            await import_validated(
                tx,
                application.workspace_id,
                candidates,
                OTHER,
                application.registry,
                LIMITS,
                "new_version",
            )
    async with application.database.transaction() as tx:
        assert (await rollback(tx, *again, FIRST_MEMBER, application.registry, LIMITS)).version == 3


async def test_a_missing_secret_is_a_warning_at_saving_and_keeps_the_automation_paused(
    bench: Bench,
) -> None:
    application = bench.application
    headers = {"X-Both": "{{ secrets.first }} {{ secrets.second }}"}
    both = document(step("a", "http_fetch", {"url": "https://one.test/", "headers": headers}))
    made = await _create(bench, both)

    assert [(entry.pointer, entry.code) for entry in made.warnings] == [
        ("/plan/0/config/headers/X-Both", "secret_missing")
    ] * 2
    await application.vault.set(bench.secret_scope, "second", "2")
    # Somebody else's secret of that name is not the owner's.
    await application.vault.set(SecretScope(application.workspace_id, OTHER), "first", "x")
    with pytest.raises(Conflict, match="first") as refused:
        await _activate(bench, made)
    assert refused.value.code == "secrets_missing"
    assert "second" not in refused.value.detail
    assert [entry.pointer for entry in refused.value.findings] == ["/plan/0/config/headers/X-Both"]
    assert (await application.database.fetchval("SELECT state FROM automations")) == "paused"

    await application.vault.set(bench.secret_scope, "first", "1")
    assert await _activate(bench, made) == "active"
    assert (await _update(bench, made, {**both, "goal": "Another."}, FIRST_MEMBER)).warnings == ()


# Two ways to be gone, each with the way back.
GONE = (
    (
        "DELETE FROM members WHERE user_id = $1",
        "INSERT INTO members SELECT workspace_id, $1, 'editor' FROM workspaces",
    ),
    (
        "UPDATE users SET disabled_at = now() WHERE id = $1",
        "UPDATE users SET disabled_at = NULL WHERE id = $1",
    ),
)


async def test_the_secrets_of_somebody_who_has_gone_are_used_no_more(bench: Bench) -> None:
    database, space = bench.application.database, bench.application.workspace_id
    person = (await member(database, space, Role.EDITOR)).actor.id
    await bench.application.vault.set(SecretScope(space, person), "key", "s3cret-value")
    async with local_server(always(answer(200, b"{}"))) as server:
        pair = f"127.0.0.1:{server.port}"
        allowed = frozenset({pair})
        async with gate_bench(bench, Market(), egress_allow=allowed) as one, one.worker():
            fetch = {"url": f"http://{pair}/", "headers": {"X-Key": "{{ secrets.key }}"}}
            plan = document(step("a", "http_fetch", fetch, max_retries=0))
            saved = await _create(one, plan, person)

            async def ended() -> tuple[str, str | None]:
                made = await one.application.dispatcher.dispatch(
                    RunRequest(space, saved.automation_id)
                )
                run = await one.until(made.run_id)
                return run["status"], run["reason"]

            for goes, comes_back in GONE:
                assert await _activate(one, saved) == "active"
                assert await ended() == ("succeeded", None)
                before = len(server.requests)
                await database.execute(goes, person)
                assert await ended() == ("failed", "owner_left")
                await database.execute("UPDATE automations SET state = 'paused'")
                with pytest.raises(Conflict, match="left, and no one has taken it over"):
                    await ended()
                with pytest.raises(NotFound, match="no longer a member") as refused:
                    await _activate(one, saved)
                assert "Take it over" in (refused.value.suggestion or "")
                assert len(server.requests) == before
                await database.execute(comes_back, person)
            assert await _activate(one, saved) == "active"


async def _activate(bench: Bench, saved: SavedAutomation) -> str:
    application = bench.application
    async with application.database.transaction() as tx:
        return await activate(
            tx,
            application.workspace_id,
            saved.automation_id,
            application.registry,
            application.limits,
        )
