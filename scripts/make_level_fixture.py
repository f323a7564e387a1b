"""Makes the databases that the upgrade tests open: one per migration level, from old code.

    python -m scripts.make_level_fixture            every level that this repository's history has
    python -m scripts.make_level_fixture 5 11       these levels alone

For each level the newest commit whose last migration has that number, whose migrations have today's
text and whose server works is checked out into a temporary worktree; some commits are half of a
change and do not start. Its own server is started on an empty data folder, filled over its own REST
API and command line, and stopped while runs wait. Where the server has consents, the owner signs in
and the requests have a browser session: as of level 20 a token is a program, which cannot agree
to what an automation may do. The database is then dumped with ``pg_dump`` to
``tests/fixtures/levels/NNNN.sql.gz``; the files of the data folder that the database needs and the
ids and tokens that the test asks for are in ``NNNN.json``.
Everything runs with the packages of this environment.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from mainspring.store.embedded import EmbeddedServer
from mainspring.store.postgres_programs import find_binaries

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "tests" / "fixtures" / "levels"
MIGRATIONS: Final = "src/mainspring/store/migrations/"
# Long enough for the server to be stopped while runs wait; over when a test opens the database.
WAIT_SECONDS: Final = 60
PATIENCE: Final = 120.0
SIGNING_KEY: Final = "whsec_bGV2ZWwtZml4dHVyZS1zaWduaW5nLWtleS0wMDAxLi4="
FILES: Final = ("master.key", "owner.token")
# A server that took too long to stop has done what the test is about.
_WAITING: Final = """
    DO $$ BEGIN
        ASSERT (SELECT count(*) FROM runs WHERE status = 'waiting') >= 2, 'No run waits any more.';
        ASSERT (SELECT count(*) FROM runs WHERE status = 'pending') = 1, 'No run is queued.';
    END $$;
"""
# Transaction ids mean nothing in another cluster: the order of what was read and what was not is
# kept, with numbers that are in the past of every cluster.
_XIDS: Final = """
    UPDATE events AS kept SET xid = (10 + 2 * (SELECT count(*) FROM event_cursors AS reader
        WHERE (reader.xid, reader.id) < (kept.xid, kept.id)))::text::xid8;
    UPDATE event_cursors AS kept SET xid = (11 + 2 * (SELECT count(*) FROM event_cursors AS reader
        WHERE (reader.xid, reader.id) < (kept.xid, kept.id)))::text::xid8;
"""
_MIGRATION = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def migrations_at(commit: str) -> dict[int, str]:
    """The object id of every migration file of a commit, by its number."""
    found: dict[int, str] = {}
    for line in git("ls-tree", commit, MIGRATIONS).splitlines():
        meta, path = line.split("\t")
        if named := _MIGRATION.fullmatch(path.rpartition("/")[2]):
            found[int(named[1])] = meta.split()[2]
    return found


def commits_by_level() -> dict[int, list[str]]:
    """The commits of every level whose migrations have today's text, the newest first."""
    today = migrations_at("HEAD")
    found: dict[int, list[str]] = {}
    for commit in git("log", "--format=%H").split():
        there = migrations_at(commit)
        if there and all(today.get(number) == text for number, text in there.items()):
            found.setdefault(max(there), []).append(commit)
    return dict(sorted(found.items()))


@contextlib.contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mainspring-level-"))
    folder.chmod(0o755)
    tree = folder / "tree"
    git("worktree", "add", "--quiet", "--detach", str(tree), commit)
    try:
        yield tree
    finally:
        git("worktree", "remove", "--force", str(tree))
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class OldServer:
    """A server of an older commit, and the two ways to talk to it."""

    tree: Path
    home: Path
    port: int
    # What a signed-in browser sends; empty until then, and the owner's token is sent instead.
    _session: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **{name: text for name, text in os.environ.items() if "MAINSPRING" not in name},
            "PYTHONPATH": str(self.tree / "src"),
            "MAINSPRING_HOME": str(self.home),
            "MAINSPRING_PORT": str(self.port),
            "MAINSPRING_SMTP_URL": "smtp://127.0.0.1:9",
        }

    def command(self, *arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "mainspring", *arguments],
            cwd=self.tree,
            env=self.environment,
            input=text,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        return done.stdout

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx2.request(
            method,
            f"http://127.0.0.1:{self.port}/api/v1{path}",
            json=body,
            timeout=PATIENCE,
            headers=self._session or self._token(),
        )
        if not answer.is_success:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def _token(self) -> dict[str, str]:
        key = (self.home / "owner.token").read_text().strip()
        return {"Authorization": f"Bearer {key}"}

    def sign_in(self) -> None:
        """Uses the owner's sign-in link; what is asked from then on is asked by a person."""
        link = str(json.loads(self.command("sign-in", "--json"))["link"])
        with httpx2.Client(timeout=PATIENCE) as client:
            answer = client.post(
                f"http://127.0.0.1:{self.port}/api/v1/session/link",
                json={"token": link.partition("#")[2]},
            )
            if not answer.is_success:
                raise RuntimeError(f"The sign-in link: {answer.status_code} {answer.text}")
            cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        self._session = {"Cookie": cookies, "X-CSRF-Token": answer.json()["csrf_token"]}

    def has(self, path: str) -> bool:
        return f"/api/v1{path}" in self.ask("GET", "/openapi.json")["paths"]

    def in_its_version(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The definition with the version of the format that this server writes."""
        version = self.ask("GET", "/schemas/definition")["properties"]["schema_version"]["const"]
        return {"schema_version": version, **document}

    def save(self, document: Mapping[str, Any], *, active: bool = True) -> str:
        made = str(self.ask("POST", "/automations", self.in_its_version(document))["id"])
        if active:
            self.ask("POST", f"/automations/{made}/activate")
        return made

    def run(self, automation: str, until: str, **inputs: Any) -> dict[str, Any]:
        """Starts a run and waits for a status."""
        asked = {"inputs": inputs} if inputs else None
        run = self.ask("POST", f"/automations/{automation}/run", asked)["run_id"]
        end = time.monotonic() + PATIENCE
        while True:
            found: dict[str, Any] = self.ask("GET", f"/runs/{run}")
            if found["status"] == until:
                return found
            if time.monotonic() > end or found["status"] in {"failed", "skipped"}:
                raise RuntimeError(f"The run is {found['status']} and not {until}: {found}")
            time.sleep(0.1)


@contextlib.contextmanager
def serving(tree: Path, home: Path) -> Iterator[OldServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = OldServer(tree, home, port)
    process = subprocess.Popen(
        [sys.executable, "-m", "mainspring", "up"],
        cwd=tree,
        env=server.environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for_health(server, process)
        yield server
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for_health(server: OldServer, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(httpx2.TransportError, OSError, RuntimeError):
            server.ask("GET", "/automations")
            return
        time.sleep(0.2)
    raise RuntimeError(f"The server of {server.tree} did not start.")


def definition(name: str, plan: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"name": name, "goal": "Go on after an upgrade.", "plan": plan, **more}


def step(step_id: str, action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": step_id, "action": action, "config": config}


def _trigger(trigger_id: str, kind: str, **config: Any) -> dict[str, Any]:
    return {"id": trigger_id, "type": kind, "config": config}


_ECHO: Final = step("echo", "transform_data", output="It was called.")
_COUNT: Final = [
    step("read", "automation_kv.get", key="times", default=0),
    step("keep", "automation_kv.set", key="times", value="{{ steps.read.value + 1 }}"),
    step("answer", "transform_data", output="{{ steps.read.value + 1 }}"),
]
_WAIT: Final = [
    step("before", "automation_kv.set", key="before", value=1),
    step("wait", "delay", seconds="{{ inputs.seconds }}"),
    step("after", "transform_data", output="It went on."),
]
_SECONDS: Final = {
    "schema": {"type": "object", "properties": {"seconds": {"type": "number", "default": 0}}}
}
_MAIL: Final = [step("send", "send_email", to=["ada@example.com"], subject="Level", text="Hello")]


def fill(server: OldServer) -> dict[str, Any]:
    """What every level has: runs that wait, a draft, a schedule, webhooks, a secret, an event."""
    server.command("secrets", "set", "signing_key", text=SIGNING_KEY)
    if server.has("/consents"):
        server.sign_in()
    waiting = server.save(definition("Waits", _WAIT, inputs=_SECONDS))
    lane = {"concurrency": "queue", "concurrency_key": "one"}
    queued = server.save(definition("One at a time", _WAIT, inputs=_SECONDS, execution=lane))
    counts = server.save(definition("Counts", _COUNT))
    second = {**definition("Counts", _COUNT), "goal": "Count the runs, as version 2."}
    server.ask("PUT", f"/automations/{counts}", server.in_its_version(second))
    mails = server.save(definition("Mails", _MAIL, execution={"write_policy": "always_draft"}))
    # The last hour is always inside the window, however old the database is.
    cron = _trigger("hourly", "schedule", cron="0 * * * *", timezone="UTC", catch_up_seconds=7200)
    hook = _trigger("push", "webhook", input_mapping={})
    signed = _trigger("paid", "webhook", signature={"secret": "signing_key"})
    event = _trigger("heard", "event", event_type="level.reached")
    webhook = server.save(definition("Called", [_ECHO], triggers=[hook, signed]))
    facts = {
        "counts": counts,
        "counted_run": server.run(counts, "succeeded")["id"],
        "draft": server.run(mails, "succeeded")["output"]["draft_id"],
        "schedule": server.save(definition("Hourly", [_ECHO], triggers=[cron])),
        "webhook": webhook,
        "webhook_token": server.ask("POST", f"/automations/{webhook}/triggers/push/token")["token"],
        "event": server.save(definition("Hears", [_ECHO], triggers=[event])),
        "paused": server.save(definition("Paused", [_ECHO]), active=False),
    }
    facts |= _fill_more(server)
    # Last, so that the server is stopped before they go on.
    facts["waiting_run"] = server.run(waiting, "waiting", seconds=WAIT_SECONDS)["id"]
    facts["lane_runs"] = [
        server.run(queued, "waiting", seconds=WAIT_SECONDS)["id"],
        server.run(queued, "pending")["id"],
    ]
    return facts


def _fill_more(server: OldServer) -> dict[str, Any]:
    """What came later: people, boards, pages, agreement in a step, proposals, recipes."""
    facts: dict[str, Any] = {}
    if server.has("/invitations"):
        server.ask("POST", "/invitations", {"email": "noor@example.org", "role": "editor"})
        made = server.ask("POST", "/tokens", {"name": "Laptop", "role": "editor"})
        facts["member_token"] = made["text"]
    if server.has("/boards"):
        columns = [{"key": "name", "label": "Name"}, {"key": "worth", "label": "Worth"}]
        asked = {"name": "Leads", "datasets": [{"name": "default", "columns": columns}]}
        facts["board"] = server.ask("POST", "/boards", asked)["id"]
        rows = [{"name": "Aino", "worth": "4200"}, {"name": "Bram", "worth": "1800"}]
        server.ask("POST", f"/boards/{facts['board']}/rows", {"rows": rows})
    if server.has("/pages"):
        page = {"type": "note", "title": "What we agreed", "body": "The tower clock is worn."}
        server.ask("POST", "/pages", page)
        facts["page"] = "what-we-agreed"
    actions = json.dumps(server.ask("GET", "/vocabulary"))
    if '"approval"' in actions:
        asks = server.save(definition("Asks", [step("ask", "approval", title="Shall we?")]))
        facts["approval_run"] = server.run(asks, "waiting")["id"]
        facts["approval"] = server.ask("GET", "/approvals")["approvals"][0]["approval_id"]
    if server.has("/proposals"):
        text = "every weekday at 9 Berlin time remind me to plan the day"
        asked = {"text": text, "by": "rules", "timezone": "Europe/Berlin"}
        facts["proposal"] = server.ask("POST", "/proposals", asked)["proposal_id"]
    if server.has("/workflows"):
        facts["workflow"] = server.ask("POST", "/workflows", {"title": "Repair"})["id"]
    return facts


def dump(home: Path) -> bytes:
    """The whole database as plain SQL; owners are left out, rights are kept."""
    server = EmbeddedServer(home)
    server.start()
    programs = find_binaries()
    try:
        subprocess.run(
            [
                programs.program("psql"),
                "--quiet",
                "--no-psqlrc",
                "--set",
                "ON_ERROR_STOP=1",
                "--dbname",
                server.dsn,
            ],
            input=_WAITING.encode() + _XIDS.encode(),
            check=True,
        )
        done = subprocess.run(
            [programs.program("pg_dump"), "--no-owner", "--dbname", server.dsn],
            stdout=subprocess.PIPE,
            check=True,
        )
        return done.stdout
    finally:
        server.stop()


def make(level: int, commit: str) -> bool:
    """Makes the files of a level; answers whether the code of the commit works."""
    with checked_out(commit) as tree:
        home = tree.parent / "home"
        try:
            with serving(tree, home) as server:
                facts = fill(server)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{level:04} not from {commit}: {error}", file=sys.stderr, flush=True)
            return False
        files = {name: (home / name).read_text() for name in FILES}
        sql = dump(home)
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = FOLDER / f"{level:04}"
    name.with_suffix(".sql.gz").write_bytes(gzip.compress(sql, mtime=0))
    made = {"commit": commit, "files": files, "facts": facts}
    name.with_suffix(".json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the databases of the upgrade tests.")
    parser.add_argument("level", nargs="*", type=int, help="a migration number; default: all")
    expected = parser.parse_args().level
    commits = commits_by_level()
    if unknown := sorted(set(expected) - set(commits)):
        sys.exit(f"No commit has migrations with today's text up to: {unknown}")
    for level in expected or commits:
        used = next((commit for commit in commits[level] if make(level, commit)), None)
        if used is None:
            sys.exit(f"No commit of level {level} works.")
        print(f"{level:04} from {used}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
