"""A whole server, as a person starts it, with its processes known by name."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import asyncpg
import httpx2

from mainspring.store.data_folder import read_owner
from mainspring.store.embedded import build_dsn
from tests.kit.owner_session import owner_of
from tests.kit.postgres import open_folder
from tests.kit.processes import ROOT

_PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class StartedServer:
    """A server that is up."""

    address: str
    home: Path
    parts: Mapping[str, int]
    client: httpx2.AsyncClient

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """One request as the owner, which has to succeed."""
        more = {} if body is None else {"json": body}
        token = (self.home / "owner.token").read_text().strip()
        if "Cookie" not in headers:
            headers = {"Authorization": f"Bearer {token}", **headers}
        answer = await self.client.request(method, f"/api/v1{path}", headers=headers, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None

    async def ask(self, query: str, *arguments: Any) -> Any:
        """One value from the database, past the server."""
        owner = read_owner(self.home)
        assert owner is not None
        connection = await asyncpg.connect(build_dsn(owner.socket))
        try:
            return await connection.fetchval(query, *arguments)
        finally:
            await connection.close()

    async def hooked(self, name: str, **headers: str) -> tuple[str, str]:
        """An active automation with a webhook: its id, and the token for it."""
        headers = headers or await owner_of(self.home)
        made = await self.call("POST", "/automations", hooked_document(name), **headers)
        await self.call("POST", f"/automations/{made['id']}/activate", **headers)
        path = f"/automations/{made['id']}/triggers/hook/token"
        return made["id"], (await self.call("POST", path, **headers))["token"]

    async def fire(self, automation: str, token: str) -> int:
        """One call from outside; answers its status."""
        headers = {"Authorization": f"Bearer {token}"}
        path = f"/api/v1/automations/{automation}/fire"
        return (await self.client.post(path, json={"say": "x"}, headers=headers)).status_code


def hooked_document(name: str) -> dict[str, Any]:
    return {
        "schema_version": "1.2",
        "name": name,
        "goal": "Be called from outside.",
        "triggers": [{"id": "hook", "type": "webhook", "config": {}}],
        "plan": [
            {"step_id": "a", "action": "transform_data", "config": {"output": "{{ trigger.say }}"}}
        ],
        "execution": {"concurrency": "allow_parallel"},
    }


@asynccontextmanager
async def standing(home: Path | None = None, **environment: str) -> AsyncIterator[StartedServer]:
    """The server on a free port of loopback, from ready to stopped."""
    with open_folder() as folder, (folder / "log").open("w+b") as log:
        where = home or folder / "home"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "mainspring",
            "up",
            "--json",
            "--port",
            "0",
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
                "MAINSPRING_HOME": str(where),
                **environment,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
        try:
            output = await _ready(process, log)
            parts = {part["name"]: part["pid"] for part in output.get("parts", [])}
            async with httpx2.AsyncClient(base_url=output["address"], timeout=60) as client:
                yield StartedServer(output["address"], where, parts, client)
        finally:
            await _end(process)


async def _ready(process: asyncio.subprocess.Process, log: IO[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(_PATIENCE):
        while line := await process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer["state"] == "ready":
                return answer
    log.seek(0)
    raise AssertionError(f"the server ended before it was ready: {log.read()[-2_000:]!r}")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), 60)
    except TimeoutError:
        process.kill()
        await process.wait()
