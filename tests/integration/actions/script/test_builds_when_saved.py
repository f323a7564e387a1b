"""A script that is no TypeScript is refused when it is saved, and not at its first run."""

from __future__ import annotations

from typing import Any

from mainspring.actions.script.prebuild import check_builds, prebuild_scripts
from mainspring.actions.script.runner import ScriptRunner
from mainspring.contracts.errors import NotFound
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from tests.kit.api import Api, api
from tests.kit.bench import Bench, document, step

__all__ = ["api"]

WRONG = ("const a = {x: 1,, y: 2};", "const a = {,};")


def _with(source: str) -> dict[str, Any]:
    return step("main", "script", {"source": source})


async def test_rest_refuses_what_cannot_be_built_with_its_place(api: Api) -> None:
    client = api.client
    sound = document(_with("const one = 1;\nreturn one;"))
    made = await client.post("/api/v1/automations", json=sound)
    assert made.status_code == 201, made.text
    for source in WRONG:
        wrong = document(_with(f"const one = 1;\n{source}\n"), name="wrong")
        told = (await client.post("/api/v1/validate", json=wrong)).json()
        assert told["ok"] is False
        assert told["definition"] is None
        (error,) = told["errors"]
        assert (error["pointer"], error["code"]) == ("/plan/0/config/source", "script_syntax")
        assert "main.ts, line 2, column" in error["detail"]
        for answer in (
            await client.post("/api/v1/automations", json=wrong),
            await client.put(f"/api/v1/automations/{made.json()['id']}", json=wrong),
        ):
            assert answer.status_code == 422, answer.text
            assert answer.json()["errors"] == [error]
    stored = await api.application.database.fetchval("SELECT count(*) FROM automation_versions")
    assert stored == 1


async def test_nested_steps_and_steps_after_a_failure_are_built_too(bench: Bench) -> None:
    application = bench.application
    loop = {"items": [1], "as": "one", "steps": [{**_with(WRONG[0]), "step_id": "inner"}]}
    wrong = document(
        _with("return 1;"),
        step("each", "for_each", loop),
        execution={"on_failure": [{**_with(WRONG[1]), "step_id": "after"}]},
    )
    report = validate(wrong, application.registry, application.limits)
    assert report.ok, report.findings
    told = await prebuild_scripts(application.script_runner, application.workspace_id, report)
    assert told.definition is None
    assert [finding.pointer for finding in told.findings] == [
        "/plan/1/config/steps/0/config/source",
        "/execution/on_failure/0/config/source",
    ]


class _NoSandbox(ScriptRunner):
    """A machine on which no sandbox starts."""

    async def _open(self) -> Any:
        raise NotFound("Scripts run on Linux only.", code="no_sandbox")


async def test_a_machine_without_a_sandbox_saves_all_the_same(bench: Bench, caplog: Any) -> None:
    application = bench.application
    report = validate(document(_with(WRONG[0])), application.registry, application.limits)
    assert report.definition is not None
    script_runner = _NoSandbox(Limits(), address="http://127.0.0.1:1", warm=0)
    await check_builds(script_runner, application.workspace_id, report.definition)
    assert "without being built" in caplog.text
