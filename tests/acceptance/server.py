"""A started server as its owner meets it: its address, its token, and what it tells.

``started`` is ``mainspring up`` on a data folder, until the block ends. Everything is asked
over HTTP or with the command line; only ``sql`` looks into the database, for moments that
nobody wants to wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import asyncpg
import httpx2

from mainspring.store.data_folder import read_owner
from mainspring.store.embedded import build_dsn
from tests.acceptance.commands import NO_SETTINGS, PATIENCE, Mainspring, Settings
from tests.kit.json_lines import JsonLineReader
from tests.kit.processes import wait_until

PREFIX = "/api/v1"
# Long enough for a machine under load; a fact that is there ends the wait at once.
SOON = 120.0
OVER = frozenset({"succeeded", "failed", "cancelled", "timed_out", "skipped", "dead"})

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """One event of a stream."""

    kind: str
    data: Any
    id: str | None


class _Browser(httpx2.Auth):
    """Signs the owner in with the first request, and sends what their browser would send."""

    def __init__(self, server: Started) -> None:
        self._server = server
        self._headers: dict[str, str] = {}

    def sync_auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        if not self._headers:
            link = self._server.mainspring("sign-in", "--json").json["link"]
            with httpx2.Client(base_url=self._server.address + PREFIX) as client:
                answer = client.post("/session/link", json={"token": str(link).partition("#")[2]})
                assert answer.status_code == 200, answer.text
                cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
                csrf = answer.json()["csrf_token"]
            self._headers = {"Cookie": cookies, "X-CSRF-Token": csrf}
        for name, value in self._headers.items():
            request.headers.setdefault(name, value)
        yield request


class Started:
    """A server that is up."""

    def __init__(self, mainspring: Mainspring, process: subprocess.Popen[str], log: IO[str]):
        assert process.stdout is not None
        self.mainspring = mainspring
        self.process = process
        self._log = log
        self.output = JsonLineReader(process.stdout)
        try:
            self.ready = self.output.until(SOON, state="ready")
        except AssertionError as error:
            raise AssertionError(f"{error}; the log says:\n{self.log}") from None
        self.address = str(self.ready["address"])
        token = (mainspring.home / "owner.token").read_text().strip()
        # The owner's token: a program.
        self.program = httpx2.Client(
            base_url=self.address + PREFIX,
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE,
        )
        # The owner with a browser: a person.
        self.owner = httpx2.Client(
            base_url=self.address + PREFIX, auth=_Browser(self), timeout=PATIENCE
        )
        self.anonymous = httpx2.Client(base_url=self.address + PREFIX, timeout=PATIENCE)

    @property
    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    # --- asking

    def get(self, path: str, **query: Any) -> Any:
        """What the owner reads there, in their browser."""
        return _good(self.owner.get(path, params=query), 200)

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        """What the owner is answered."""
        return _good(self.owner.post(path, json=body), status)

    def items(self, path: str, **query: Any) -> list[Json]:
        """A whole list, page by page."""
        found: list[Json] = []
        cursor: str | None = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = self.get(path, limit=200, **query, **more)
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                return found

    def sql(self, statement: str, *values: Any) -> str:
        """Changes what a story cannot wait for."""

        async def change() -> str:
            owner = read_owner(self.mainspring.home)
            assert owner is not None
            connection = await asyncpg.connect(build_dsn(owner.socket))
            try:
                return str(await connection.execute(statement, *values))
            finally:
                await connection.close()

        return asyncio.run(change())

    # --- automations

    def save(self, document: Mapping[str, Any], *, active: bool = True) -> str:
        """Saves a new automation, and lets its triggers start it."""
        made = str(self.post("/automations", document, 201)["id"])
        if active:
            self.post(f"/automations/{made}/activate")
        return made

    def agree(self, automation_id: str) -> None:
        """A person agrees to all that waits for them about an automation."""
        waiting = self.get("/consents", automation_id=automation_id)["consents"]
        for one in waiting:
            answer = {"digest": one["digest"], "agree": True}
            self.post(f"/consents/{one['consent_id']}/answer", answer)

    def run(self, automation_id: str, **inputs: Any) -> str:
        """Runs it now, as a person would."""
        body = {"inputs": inputs} if inputs else None
        return str(self.post(f"/automations/{automation_id}/run", body, 202)["run_id"])

    def token(self, automation_id: str, slug: str) -> str:
        """A new token of a webhook."""
        return str(
            self.post(f"/automations/{automation_id}/triggers/{slug}/token", None, 201)["token"]
        )

    def fire(
        self, automation_id: str, token: str, body: Any = None, **headers: str
    ) -> httpx2.Response:
        """Calls a webhook as an outside system does; header names are written with _."""
        shown = {name.replace("_", "-"): value for name, value in headers.items()}
        shown["Authorization"] = f"Bearer {token}"
        return self.anonymous.post(f"/automations/{automation_id}/fire", json=body, headers=shown)

    # --- runs

    def read(self, run_id: str) -> Json:
        run: Json = self.get(f"/runs/{run_id}")
        return run

    def runs(self, automation_id: str) -> list[Json]:
        """The runs of an automation, the oldest first."""
        return self.items("/runs", automation_id=automation_id)[::-1]

    def ended(self, run_id: str) -> Json:
        """The run, once it is over."""
        return self.until(run_id, *OVER)

    def until(self, run_id: str, *statuses: str) -> Json:
        """The run, once it is in one of these statuses."""
        deadline = time.monotonic() + SOON
        while (run := self.read(run_id))["status"] not in statuses:
            assert run["status"] not in OVER, f"it ended otherwise: {run}"
            assert time.monotonic() < deadline, f"{run['status']}, not {statuses}: {run}"
            time.sleep(0.02)
        return run

    def first_runs(self, automation_id: str, number: int = 1) -> list[Json]:
        """The first runs of an automation, whole, once there are so many and they are over."""
        wait_until(
            lambda: len(self.runs(automation_id)) >= number, SOON, f"{number} runs by themselves"
        )
        return [self.ended(run["id"]) for run in self.runs(automation_id)[:number]]

    # --- watching

    @contextlib.contextmanager
    def watching(self, path: str, last_event_id: str | None = None) -> Iterator[Iterator[Sent]]:
        """A stream that is open, as the events it sends."""
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        with self.owner.stream("GET", path, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _sent(answer.iter_lines())

    # --- the end

    def stop(self) -> int:
        """Asks it to stop in order; answers its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.owner.close()
        self.program.close()
        self.anonymous.close()


@contextlib.contextmanager
def started(
    mainspring: Mainspring, settings: Settings = NO_SETTINGS, *, port: int = 0
) -> Iterator[Started]:
    """The server on this port, or any free one; whatever is left of it is killed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            mainspring.command("up", "--json", "--port", str(port)),
            env=mainspring.environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        server: Started | None = None
        try:
            server = Started(mainspring, process, log)
            yield server
        finally:
            if server is not None:
                server.close()
            _end(process)


def problem(answer: httpx2.Response, status: int) -> Json:
    """The problem document of a refusal."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/problem+json"
    found: Json = answer.json()
    assert found["status"] == status
    assert found["detail"]
    return found


def outputs(run: Mapping[str, Any]) -> Json:
    """What each step of a run came to, by its id."""
    return {step["step"]: step["output"] for step in run["steps"]}


def statuses(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The records of a run's steps, in order."""
    return [(step["step"], step["status"]) for step in run["steps"]]


def _good(answer: httpx2.Response, status: int) -> Any:
    assert answer.status_code == status, (answer.status_code, answer.text)
    return answer.json()


def _sent(lines: Iterator[str]) -> Iterator[Sent]:
    deadline = time.monotonic() + SOON
    fields: dict[str, str] = {}
    for line in lines:
        assert time.monotonic() < deadline, "what was waited for is not told"
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "data" in fields:
            yield Sent(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}
        else:
            fields = {}


def _end(process: subprocess.Popen[str]) -> None:
    """In order if it can be, so that nothing of the data folder is left in use."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()


def definition(
    name: str,
    plan: Sequence[Mapping[str, Any]],
    triggers: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> Json:
    """A small definition with what starts it."""
    return {
        "schema_version": "1.2",
        "name": name,
        "goal": "A story.",
        "triggers": list(triggers),
        "plan": list(plan),
        **more,
    }


def trigger(slug: str, kind: str, **config: Any) -> Json:
    return {"id": slug, "type": kind, "config": config}
