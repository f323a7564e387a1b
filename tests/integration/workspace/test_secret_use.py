"""An automation uses its owner's secrets: nobody else can send them anywhere new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Clash, Denied
from mainspring.contracts.ids import new_id
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import Report, validate
from mainspring.workspace.automations import FIRST_MEMBER, Saved, create, update
from mainspring.workspace.portable import import_judged, judge_import
from mainspring.workspace.states import activate
from mainspring.workspace.vault import Drawer
from mainspring.workspace.versions import rollback
from tests.kit.house import Bench, document, step

LIMITS = Limits()
OTHER = new_id()


def _fetch(step_id: str, host: str, *secrets: str, path: str = "", **config: Any) -> dict[str, Any]:
    headers = {f"X-{name}": f"{{{{ secrets.{name} }}}}" for name in secrets}
    return step(
        step_id, "http_fetch", {"url": f"https://{host}/{path}", "headers": headers, **config}
    )


BEFORE = document(_fetch("a", "one.test", "first"), _fetch("b", "two.test", "second"))


def _judged(bench: Bench, changed: Mapping[str, Any]) -> Report:
    report = validate(changed, bench.house.registry, LIMITS)
    assert report.ok, report.findings
    return report


async def _create(bench: Bench, made: Mapping[str, Any], author: UUID = FIRST_MEMBER) -> Saved:
    report = _judged(bench, made)
    async with bench.house.database.transaction() as tx:
        space = bench.house.workspace_id
        return await create(tx, space, report.accepted(), report.grants, author)


async def _update(bench: Bench, saved: Saved, changed: Mapping[str, Any], author: UUID) -> Saved:
    report = _judged(bench, changed)
    async with bench.house.database.transaction() as tx:
        return await update(
            tx, bench.house.workspace_id, saved.automation_id, report.accepted(), report.grants,
            author,
        )  # fmt: skip


FURTHER = {
    "a new host": document(*BEFORE["plan"], _fetch("c", "three.test")),
    "a secret to a new host": document(BEFORE["plan"][0], _fetch("b", "three.test", "second")),
    "a new name": document(BEFORE["plan"][0], _fetch("b", "two.test", "second", "third")),
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
        inputs={"schema": {"type": "object", "properties": {"host": {"type": "string"}},
                           "required": ["host"]}},
        grants=[{"capability": "http_fetch", "params": {"hosts": ["one.test", "two.test"]}}],
    ),
    "another capability": document(
        *BEFORE["plan"], step("c", "notification", {"title": "t"})
    ),
    "inside a loop": document(
        *BEFORE["plan"],
        step("c", "for_each", {"items": "{{ [1] }}", "steps": [
            _fetch("d", "two.test", "first")]}),
    ),
    "after a failure": document(
        *BEFORE["plan"], execution={"on_failure": [_fetch("z", "two.test", "first")]}
    ),
    "a webhook's signature": document(
        *BEFORE["plan"],
        triggers=[{"type": "webhook", "config": {"signature": {
                                                               "secret": "third"}}}],
    ),
}  # fmt: skip
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
        with pytest.raises(Denied) as refused:
            await _update(bench, made, changed, OTHER)
        assert refused.value.code == "secrets_widened", name
        assert refused.value.findings, name
        assert "its owner" in (refused.value.suggestion or "")
        # The owner may; whoever makes a copy is the owner of that.
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
    with pytest.raises(Denied):
        await _update(bench, made, document(_fetch("a", "three.test", "first")), OTHER)
    with pytest.raises(Denied):
        await _update(bench, made, BEFORE, OTHER)


async def test_going_back_and_importing_obey_the_same_rule(bench: Bench) -> None:
    house = bench.house
    made = await _create(bench, BEFORE)
    narrow = document(_fetch("a", "one.test", "first"))
    await _update(bench, made, narrow, FIRST_MEMBER)
    again = (house.workspace_id, made.automation_id, 1)

    with pytest.raises(Denied):
        async with house.database.transaction() as tx:
            await rollback(tx, *again, OTHER, house.registry, LIMITS)
    judged = await judge_import(BEFORE, house.registry, LIMITS)
    with pytest.raises(Denied):
        async with house.database.transaction() as tx:
            await import_judged(
                tx, house.workspace_id, judged, OTHER, house.registry, LIMITS, "new_version"
            )
    async with house.database.transaction() as tx:
        assert (await rollback(tx, *again, FIRST_MEMBER, house.registry, LIMITS)).version == 3


async def test_a_missing_secret_is_a_warning_at_saving_and_keeps_the_automation_paused(
    bench: Bench,
) -> None:
    house = bench.house
    headers = {"X-Both": "{{ secrets.first }} {{ secrets.second }}"}
    both = document(step("a", "http_fetch", {"url": "https://one.test/", "headers": headers}))
    made = await _create(bench, both)

    assert [(entry.pointer, entry.code) for entry in made.warnings] == [
        ("/plan/0/config/headers/X-Both", "secret_missing")
    ] * 2
    await house.vault.set(bench.drawer, "second", "2")
    # Somebody else's secret of that name is not the owner's.
    await house.vault.set(Drawer(house.workspace_id, OTHER), "first", "x")
    with pytest.raises(Clash, match="first") as refused:
        await _activate(bench, made)
    assert refused.value.code == "secrets_missing"
    assert "second" not in refused.value.detail
    assert [entry.pointer for entry in refused.value.findings] == ["/plan/0/config/headers/X-Both"]
    assert (await house.database.fetchval("SELECT state FROM automations")) == "paused"

    await house.vault.set(bench.drawer, "first", "1")
    assert await _activate(bench, made) == "active"
    assert (await _update(bench, made, {**both, "goal": "Another."}, FIRST_MEMBER)).warnings == ()


async def _activate(bench: Bench, saved: Saved) -> str:
    house = bench.house
    async with house.database.transaction() as tx:
        return await activate(
            tx, house.workspace_id, saved.automation_id, house.registry, house.limits
        )
