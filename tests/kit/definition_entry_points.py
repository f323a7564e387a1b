"""Every entry point that takes a definition or a request without running it, and planted baits.

The test sends each document to a few of the entry points, in turn, so that each sees every
kind. All documents to all entry points are one command::

    python -m tests.kit.definition_entry_points
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from mainspring.app import Application, open_application
from mainspring.settings import Settings
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.capabilities import Outside
from tests.kit.foreign_documents import Bait, ForeignDocument, exports, yaml_texts
from tests.kit.hostile_definitions import heavy, hostile
from tests.kit.loopback_doubles import LocalServer, always, answer, local_server
from tests.kit.postgres import open_folder, running_server

ROOT: Final = "/api/v1"
VARIABLE: Final = "MAINSPRING_PLANTED"
REQUEST: Final = "every Monday at 9 Berlin time remind me of the invoices"
LONGEST: Final = 4_000
# Nobody waits so long for a verdict, however slow the machine.
SLOW: Final = 10.0
# What starts a process, opens a connection or asks for a name; all else is seen by its bait.
_EVENTS: Final = frozenset(
    {
        "subprocess.Popen",
        "os.exec",
        "os.posix_spawn",
        "os.system",
        "os.fork",
        "os.forkpty",
        "pty.spawn",
        "socket.connect",
        "socket.getaddrinfo",
        "open",
    }
)


class Watch:
    """What this process started, whom it called and which planted files it opened.

    Nobody can take a hook away again, so there is one for all, and it sleeps between batteries.
    """

    def __init__(self) -> None:
        self.planted: frozenset[str] = frozenset()
        self.calls: frozenset[int] = frozenset()
        self.seen: list[tuple[str, str]] = []
        self.awake = False
        self._hooked = False

    @contextlib.contextmanager
    def open(self, planted: Sequence[str], calls: Sequence[int]) -> Iterator[None]:
        """Until the block ends; calls to these ports of loopback are our own."""
        if not self._hooked:
            sys.addaudithook(self._hook)
            self._hooked = True
        self.planted, self.calls, self.seen = frozenset(planted), frozenset(calls), []
        self.awake = True
        try:
            yield
        finally:
            self.awake = False

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.awake or event not in _EVENTS:
            return
        if event == "open":
            if str(arguments[0]) in self.planted:
                self.seen.append((event, str(arguments[0])))
        elif event == "socket.connect":
            address = arguments[1]
            if isinstance(address, tuple) and address[1] not in self.calls:
                self.seen.append((event, str(address)))
        elif event == "socket.getaddrinfo":
            if str(arguments[0]) not in ("127.0.0.1", "localhost"):
                self.seen.append((event, str(arguments[0])))
        else:
            self.seen.append((event, _command(arguments)))

    def noticed(self) -> list[tuple[str, str]]:
        """Everything but the two programs in which scripts are built: Deno, and its launcher."""
        launcher = f"{sys.executable} -I -S -c "
        return [
            (event, what)
            for event, what in self.seen
            if not (event == "subprocess.Popen" and what.startswith(launcher))
            and not (event == "subprocess.Popen" and what.endswith("/deno"))
        ]


def _command(arguments: tuple[Any, ...]) -> str:
    given = arguments[1] if len(arguments) > 1 else arguments
    return " ".join(map(str, given)) if isinstance(given, list | tuple) else str(given)


WATCH: Final = Watch()


@dataclass(frozen=True, slots=True)
class ImportAnswer:
    """What an entry point answered to a document."""

    what: ForeignDocument
    entry_point: str
    status: int
    kind: str
    text: str
    seconds: float

    @property
    def label(self) -> str:
        return f"{self.entry_point} <- {self.what.name}: {self.status} {self.text[:300]}"

    @property
    def body(self) -> Any:
        return json.loads(self.text)


@dataclass(slots=True)
class ImportHarness:
    """The application, the planted baits, and one automation and one proposal to try things on."""

    api: Api
    bench: Bench
    listener: LocalServer
    bait: Bait
    # The content of the planted file, of the planted variable and of the secret.
    planted: Mapping[str, str]
    folder: Path
    automation: str = ""
    proposal: str = ""
    answers: list[ImportAnswer] = field(default_factory=list)

    @property
    def application(self) -> Application:
        return self.bench.application

    def everything(self) -> list[ForeignDocument]:
        return [*exports(self.bait), *yaml_texts(self.bait), *hostile(self.bait)]

    async def post(self, path: str, body: Any, media: str = "application/json") -> httpx2.Response:
        content = body if isinstance(body, str) else json.dumps(body)
        return await self.api.client.post(
            f"{ROOT}{path}", content=content.encode(), headers={"content-type": media}
        )

    async def done(self, path: str, body: Any) -> Any:
        found = await self.post(path, body)
        assert found.status_code < 300, found.text
        return found.json()

    async def send(self, what: ForeignDocument, door: str) -> ImportAnswer:
        began = time.monotonic()
        try:
            found = await ENDPOINTS[door](self, what)
        except httpx2.TimeoutException:
            found = httpx2.Response(504, json={"detail": "Nothing was answered.", "code": "late"})
        kind = found.headers.get("content-type", "").partition(";")[0]
        seconds = time.monotonic() - began
        output = ImportAnswer(what, door, found.status_code, kind, found.text, seconds)
        self.answers.append(output)
        return output


ImportEndpoint = Callable[[ImportHarness, ForeignDocument], Awaitable[httpx2.Response]]


def _definition(path: str) -> ImportEndpoint:
    """The document is the body; a text goes as what it is, and as the JSON that it is not."""

    async def send(porch: ImportHarness, what: ForeignDocument) -> httpx2.Response:
        if what.document is None:
            media = "application/json" if len(what.text) % 2 else "application/yaml"
            return await porch.post(path, what.text, media)
        return await porch.post(path, what.document)

    return send


def _worded(path: str, **more: Any) -> ImportEndpoint:
    async def send(porch: ImportHarness, what: ForeignDocument) -> httpx2.Response:
        return await porch.post(path, {"text": what.text[:LONGEST], **more})

    return send


def _refined(make: Callable[[ForeignDocument], Mapping[str, Any]]) -> ImportEndpoint:
    async def send(porch: ImportHarness, what: ForeignDocument) -> httpx2.Response:
        return await porch.post(f"/proposals/{porch.proposal}/refine", make(what))

    return send


async def _reviewed(harness: ImportHarness, what: ForeignDocument) -> httpx2.Response:
    given = what.text if what.document is None else what.document
    asked = {"definition": given, "request": what.text[:LONGEST], "by": "rules"}
    return await harness.post("/reviews", asked)


async def _changed(harness: ImportHarness, what: ForeignDocument) -> httpx2.Response:
    """Words that would change what is there."""
    asked = {"text": what.text[:LONGEST], "automation_id": harness.automation, "by": "rules"}
    return await harness.post("/proposals", asked)


async def _run_as(harness: ImportHarness, what: ForeignDocument) -> httpx2.Response:
    """A definition is only ever taken from the database."""
    body = {"definition": what.document or what.text, "dry_run": True}
    return await harness.post(f"/automations/{harness.automation}/run", body)


async def _fired(harness: ImportHarness, what: ForeignDocument) -> httpx2.Response:
    """The public webhook route of an automation that has no webhook."""
    return await harness.api.anonymous.post(
        f"{ROOT}/automations/{harness.automation}/fire",
        json=what.document or what.text,
        headers={"Authorization": "Bearer guessed"},
    )


def _edits(what: ForeignDocument) -> Mapping[str, Any]:
    if what.document is None:
        return {"edits": [{"pointer": "/goal", "value": what.text}]}
    found = [name for name in ("plan", "triggers", "execution", "name") if name in what.document]
    edits = [{"pointer": f"/{name}", "value": what.document[name]} for name in found]
    more = [{"pointer": "/metadata", "value": what.document}] if what.kind == "export" else []
    return {"edits": [*edits, *more]}


ENDPOINTS: Final[Mapping[str, ImportEndpoint]] = {
    "validate": _definition("/validate"),
    "save": _definition("/automations"),
    "import": _definition("/import?on_clash=rename"),
    "review": _reviewed,
    "propose": _worded("/proposals", by="rules", timezone="Europe/Berlin"),
    "change": _changed,
    "refine whole": _refined(lambda what: {"definition": what.document or {"text": what.text}}),
    "refine by edits": _refined(_edits),
    "refine by words": _refined(lambda what: {"instruction": what.text[:LONGEST], "by": "rules"}),
    "read when": _worded("/capabilities/read_schedule"),
    "run as": _run_as,
    "fire": _fired,
}


@asynccontextmanager
async def porch(url: str, home: Path) -> AsyncIterator[ImportHarness]:
    """The application with the product's own registry, with baits planted around it."""
    planted = {
        name: f"planted-{name}-{secrets.token_hex(12)}" for name in ("file", "variable", "secret")
    }
    folder = home / "planted"
    folder.mkdir()
    (folder / "read.txt").write_text(planted["file"])
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = planted["variable"]
    try:
        async with local_server(always(answer(200, b"{}"))) as listener:
            pair = f"127.0.0.1:{listener.port}"
            bait = Bait(f"http://{pair}", f"{folder}/touched", f"{folder}/read.txt", VARIABLE)
            # Egress to the address is allowed: only that nothing is run protects it.
            settings = Settings(
                home=home,
                database_url=url,
                egress_allow=frozenset({pair}),
                script_warm=0,
                poll_seconds=0.2,
                stop_seconds=1.0,
            )
            async with open_application(settings) as application, served(application) as api:
                made = ImportHarness(
                    api, Bench(application, Outside()), listener, bait, planted, folder
                )
                key = {"name": "shop_key", "value": planted["secret"]}
                await made.done("/secrets", key)
                words = {"text": REQUEST, "by": "rules"}
                made.proposal = (await made.done("/proposals", words))["proposal_id"]
                plain = {
                    "schema_version": "1.2",
                    "name": "There before",
                    "goal": "Be there.",
                    "plan": [
                        {"step_id": "a", "action": "notification", "config": {"title": "Hello"}}
                    ],
                }
                made.automation = (await made.done("/automations", plain))["id"]
                yield made
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


def watched(made: ImportHarness) -> contextlib.AbstractContextManager[None]:
    """Watches the application: nothing may call anything but its own server."""
    ours = int(made.api.address.rpartition(":")[2])
    return WATCH.open([made.bait.touch, made.bait.read], [ours])


async def tables(made: ImportHarness) -> dict[str, Any]:
    """What would exist if anything had been run, and the state of the automations."""
    database = made.application.database
    names = (
        "runs",
        "firings",
        "steps",
        "calls",
        "drafts",
        "events",
        "pages",
        "boards",
        "artifacts",
        "llm_usage",
        "spend",
        "automation_kv",
        "mcp_connections",
    )
    found: dict[str, Any] = {
        name: await database.fetchval(f"SELECT count(*) FROM {name}") for name in names
    }
    rows = await database.fetch("SELECT DISTINCT state FROM automations")
    return {**found, "states": {row["state"] for row in rows}}


def faults(made: ImportHarness, said: ImportAnswer) -> Iterator[str]:
    """What is wrong with an answer, whatever was sent."""
    for name, value in made.planted.items():
        if value in said.text:
            yield f"the planted {name} is shown"
    if said.status >= 500:
        yield "it failed"
    for trace in ("Traceback", "asyncpg", "pydantic", "site-packages", "/mainspring/"):
        if trace in said.text.replace(json.dumps(said.what.text)[1:-1], ""):
            yield f"it tells of {trace}"
    if said.status >= 400:
        yield from _problem_faults(said)
    elif said.what.kind != "ours":
        yield from _foreign_faults(said)


def _problem_faults(said: ImportAnswer) -> Iterator[str]:
    body = said.body
    if said.kind != "application/problem+json" or not body.get("detail") or not body.get("code"):
        yield "it is no problem that says something"
    if said.status == 422:
        pointers = [one.get("pointer") for one in body.get("errors", ())]
        if not pointers or not all(isinstance(one, str) for one in pointers):
            yield "it says not where"


def _foreign_faults(said: ImportAnswer) -> Iterator[str]:
    """What is no definition of ours is refused, or is text in a proposal."""
    body = said.body
    if said.entry_point in ("save", "import", "run as", "fire", "refine whole"):
        yield "it was taken"
    if said.entry_point == "validate" and (body["ok"] or not body["errors"]):
        yield "it passes for a definition"
    if (
        said.entry_point in ("propose", "change")
        and body["request"] != said.what.text[:LONGEST].strip()
    ):
        yield "it is not kept as it was said"


async def _whole(url: str, home: Path) -> int:
    """All documents to all entry points, as a table."""
    async with porch(url, home) as made:
        with watched(made):
            for what in (*made.everything(), *heavy()):
                for entry_point in ENDPOINTS:
                    await made.send(what, entry_point)
        found = await tables(made)
    bad = [f"{fault}: {one.label}" for one in made.answers for fault in faults(made, one)]
    bad += [
        f"it took {one.seconds:.0f} s: {one.label}" for one in made.answers if one.seconds > SLOW
    ]
    slowest = sorted(made.answers, key=lambda one: -one.seconds)[:5]
    counts = Counter((one.entry_point, one.status) for one in made.answers)
    lines = [
        f"{entry_point:18}{status:5}{count:6}" for (entry_point, status), count in counts.items()
    ]
    lines += [
        f"slowest: {one.seconds:.2f} s {one.entry_point} <- {one.what.name}" for one in slowest
    ]
    calls, noticed = made.listener.connections, WATCH.noticed()
    touched = (made.folder / "touched").exists()
    lines += [*bad, f"{len(made.answers)} answers, {len(bad)} faults, {calls} calls, {found}"]
    lines += [f"noticed: {one}" for one in noticed]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(bad or calls or noticed or touched))


def main() -> int:
    with open_folder() as folder, running_server({"fsync": "off"}) as server:
        home = folder / "house"
        home.mkdir()
        return asyncio.run(_whole(server.dsn, home))


if __name__ == "__main__":
    sys.exit(main())
