"""Clients that others generate from the published description, for Python and for TypeScript.

Each is generated from what a running server publishes, compiled, and calls ten operations of that
server.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from scripts.node_packages import NODE, PATIENCE, installed
from tests.kit.api import Api, api
from tests.kit.bench import Bench, document
from tests.kit.definitions import step
from tests.kit.python_packages import environment

__all__ = ["api"]

_CLIENTS: Final = Path(__file__).parent / "clients"
_ANSWERS: Final = {
    "health": "ok",
    "slug": "zebra",
    "pages": ["Zebra"],
    "appended": 1,
    "automations": 1,
    "runs": 1,
    "run": "succeeded",
    "steps": ["succeeded"],
    "missing": "no_run",
}
_PYTHON: Final = """
import json, sys
from uuid import UUID

from mainspring_client import AuthenticatedClient
from mainspring_client.api.automations import get_automation, get_automations
from mainspring_client.api.boards import append_board_rows, create_board, list_boards
from mainspring_client.api.health import read_health
from mainspring_client.api.pages import create_page, list_pages
from mainspring_client.api.runs import get_run, get_runs
from mainspring_client.api.usage import get_usage
from mainspring_client.models import (
    AppendBoardRowsBody, AppendBoardRowsBodyRowsItem, CreateBoardBody, CreatePageBody,
    CreatePageBodyFrontmatter, Problem, RunDetail,
)

url, token, run_id, automation_id = sys.argv[1:]
api = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
health = read_health.sync(client=api)
body = CreatePageBody(
    type_="note", title="Zebra", body="At noon.",
    frontmatter=CreatePageBodyFrontmatter.from_dict({"stripes": 40}),
)
page = create_page.sync(client=api, body=body)
pages = list_pages.sync(client=api, limit=5)
board = create_board.sync(client=api, body=CreateBoardBody(name="CRM"))
row = AppendBoardRowsBodyRowsItem.from_dict({"company": "Acme"})
added = append_board_rows.sync(board.id, client=api, body=AppendBoardRowsBody(rows=[row]))
boards = list_boards.sync(client=api)
automations = get_automations.sync(client=api)
automation = get_automation.sync(UUID(automation_id), client=api)
runs = get_runs.sync(client=api)
run = get_run.sync(UUID(run_id), client=api)
assert isinstance(run, RunDetail), run
usage = get_usage.sync(client=api)
missing = get_run.sync(UUID(int=7), client=api)
assert isinstance(missing, Problem), missing
print(json.dumps({
    "health": health.status, "slug": page.slug, "pages": [one.title for one in pages.pages],
    "board": board.name, "appended": added.appended, "boards": [one.name for one in boards.boards],
    "automations": len(automations.items), "automation": str(automation.id),
    "runs": len(runs.items), "run": run.status, "steps": [one.status for one in run.steps],
    "usage": type(usage).__name__, "missing": missing.code,
}))
"""


async def _done(*command: Any, cwd: Path) -> str:
    """What a program printed; it must not fail."""
    path = f"{Path(str(command[0])).parent}:{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env={**os.environ, "PATH": path},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, f"{out.decode()[-5000:]}\n{err.decode()[-5000:]}"
    return out.decode()


async def _asked(api: Api, bench: Bench, folder: Path) -> list[str]:
    """The description in a file, and what a client is shown of this server."""
    run = await bench.run(document(step("echo", "test.echo", config={"a": 1})))
    described = await api.client.get("/api/v1/openapi.json")
    (folder / "openapi.json").write_text(described.text)
    return [api.address, api.token, str(run["id"]), str(run["automation_id"])]


@pytest.mark.own_app
async def test_a_generated_python_client_compiles_and_calls(
    api: Api, bench: Bench, tmp_path: Path
) -> None:
    asked = await _asked(api, bench, tmp_path)
    programs = await asyncio.to_thread(
        environment, _CLIENTS / "requirements.txt", "api-client-python"
    )
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    output = await _done(
        programs / "openapi-python-client",
        "generate",
        "--path",
        "openapi.json",
        "--meta",
        "none",
        "--output-path",
        "mainspring_client",
        "--config",
        "config.yml",
        cwd=tmp_path,
    )
    assert "Warning" not in output, output
    assert "Unable" not in output, output
    await _done(programs / "python", "-m", "compileall", "-q", "mainspring_client", cwd=tmp_path)

    (tmp_path / "client.py").write_text(_PYTHON)
    result = json.loads(await _done(programs / "python", "client.py", *asked, cwd=tmp_path))
    assert {**result, **_ANSWERS} == result
    assert result["automation"] == asked[3]


@pytest.mark.own_app
async def test_a_generated_typescript_client_compiles_and_calls(
    api: Api, bench: Bench, tmp_path: Path
) -> None:
    asked = await _asked(api, bench, tmp_path)
    packages = (await asyncio.to_thread(installed, _CLIENTS, "api-clients")) / "node_modules"
    (tmp_path / "node_modules").symlink_to(packages)
    for name in ("rest_client.mts", "tsconfig.json"):
        shutil.copy(_CLIENTS / name, tmp_path)
    generator = packages / "openapi-typescript" / "bin" / "cli.js"
    await _done(NODE, generator, "openapi.json", "--output", "schema.d.ts", cwd=tmp_path)
    await _done(NODE, packages / "typescript" / "bin" / "tsc", cwd=tmp_path)

    types = (tmp_path / "schema.d.ts").read_text()
    # Only what truly has no members: a body that takes nothing, and two names of the generator's.
    empty = [line.strip() for line in types.splitlines() if "Record<string, never>" in line]
    stored = re.compile(r'export type (webhooks|\$defs) = .*|"application/json": .*')
    assert not [line for line in empty if not stored.fullmatch(line)]
    result = json.loads(await _done(NODE, "rest_client.mts", *asked, cwd=tmp_path))
    assert {**result, **_ANSWERS} == result
    assert result["automation"] == asked[3]
