"""``mainspring up``, as its operator meets it: one command, its processes, its stops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import asyncpg
import httpx2
import pytest

from mainspring.store.application_name import hash_host_name
from mainspring.store.data_folder import read_owner
from mainspring.store.embedded import build_dsn
from tests.acceptance.commands import (
    EXAMPLES,
    NO_SETTINGS,
    PATIENCE,
    Mainspring,
    Settings,
    open_folder,
    silent_server,
)
from tests.kit.json_lines import JsonLineReader
from tests.kit.processes import is_running, session_nice, wait_until

HEALTH = "/api/v1/health"
LIVE = "/api/v1/health/live"
TOKEN = re.compile(r"[A-Za-z0-9_-]{20,}")


class Server:
    """A started ``up --json``, line by line."""

    def __init__(self, process: subprocess.Popen[str], errors: IO[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self._errors = errors
        self._output = JsonLineReader(process.stdout)
        self.ready = self.until("ready")
        self.pids = {part["name"]: part["pid"] for part in self.ready["parts"]}

    def until(self, state: str) -> dict[str, Any]:
        """The next change of this kind."""
        try:
            return self._output.until(PATIENCE, state=state)
        except AssertionError as error:
            raise AssertionError(f"{error}; the log says:\n{self.log}") from None

    @property
    def log(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def gets_healthy(self) -> None:
        """A worker that has just come takes a moment to be seen in the database."""
        wait_until(self.is_healthy, 30.0, "a healthy server")

    def is_healthy(self) -> bool:
        try:
            answer = httpx2.get(self.ready["address"] + HEALTH, timeout=PATIENCE)
        except httpx2.TransportError:
            return False
        return answer.status_code == 200

    def everyone(self) -> set[int]:
        return {self.process.pid, *self.pids.values()}


@contextlib.contextmanager
def up(mainspring: Mainspring, *text: str, settings: Settings = NO_SETTINGS) -> Iterator[Server]:
    """The server on any free port; whatever is left of it is killed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            mainspring.command("up", "--json", "--port", "0", *text),
            env=mainspring.environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            yield Server(process, errors)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture(scope="module")
def server(mainspring: Mainspring) -> Iterator[Server]:
    """One server that the tests of this module share."""
    with up(mainspring) as started:
        yield started


# --- bad input


@pytest.mark.parametrize(
    "words",
    [
        ("up", "--port", "65536"),
        ("up", "--workers", "0"),
        ("up", "--host", "no.such.host.invalid"),
        ("up", "--host", "192.0.2.1"),
        ("api", "--port", "-1"),
        ("scheduler", "--port", "1"),
    ],
)
def test_words_that_cannot_be_used_are_refused_and_nothing_is_made(
    untouched: Mainspring, words: tuple[str, ...]
) -> None:
    ended = untouched(*words)

    assert ended.code == 2, ended.output
    assert "Traceback" not in ended.output
    assert not untouched.home.exists()


def test_a_port_in_use_is_a_problem_before_anything_is_made(untouched: Mainspring) -> None:
    with silent_server() as port:
        ended = untouched("up", "--port", str(port))
        as_json = untouched("up", "--json", "--port", str(port))

    assert ended.code == as_json.code == 1
    assert f"port {port}" in ended.err
    assert "--port" in ended.err
    assert as_json.json["problem"]["code"] == "port_in_use"
    assert not untouched.home.exists()


def test_a_data_folder_that_is_none_is_named(untouched: Mainspring) -> None:
    untouched.home.write_text("not a folder")

    ended = untouched("up", "--port", "0")

    assert ended.code == 2, ended.output
    assert str(untouched.home) in ended.err


# --- next to a server that is up


def test_the_server_is_up_when_it_says_so(server: Server, mainspring: Mainspring) -> None:
    server.gets_healthy()
    assert server.pids.keys() == {"api", "scheduler", "worker", "postgres"}
    assert server.ready["pid"] == server.process.pid
    assert server.ready["database"] == "embedded"
    assert "token" not in server.ready
    token = mainspring.home / server.ready["token_file"]
    assert token.stat().st_mode & 0o077 == 0
    page, _, link = server.ready["sign_in"].partition("#")
    assert httpx2.get(page, timeout=PATIENCE).status_code == 200
    where = f"{server.ready['address']}/api/v1/session/link"
    comes = [httpx2.post(where, json={"token": link}, timeout=PATIENCE) for _ in range(2)]
    assert [answer.status_code for answer in comes] == [200, 410]
    assert comes[0].json()["role"] == "owner"


def test_a_second_server_on_the_data_folder_is_refused(
    server: Server, mainspring: Mainspring
) -> None:
    ended = mainspring("up", "--port", "0")

    assert ended.code == 1, ended.output
    assert str(server.process.pid) in ended.err
    assert server.ready["address"] in ended.err
    server.gets_healthy()


def test_who_answers_goes_before_who_works_and_each_has_a_share_of_its_own(server: Server) -> None:
    parts = {name: server.pids[name] for name in ("api", "scheduler", "worker")}
    usual = os.getpriority(os.PRIO_PROCESS, server.process.pid)

    nice = {name: os.getpriority(os.PRIO_PROCESS, pid) for name, pid in parts.items()}
    behind = min(usual + 5, 19)
    assert nice == {"api": usual, "scheduler": behind, "worker": behind}
    assert {os.getsid(pid) for pid in parts.values()} == set(parts.values())
    sessions = {name: session_nice(pid) for name, pid in parts.items()}
    assert sessions in (nice, dict.fromkeys(parts))


def test_other_commands_work_while_it_runs(server: Server, mainspring: Mainspring) -> None:
    ended = mainspring("run", EXAMPLES / "first.json")

    assert ended.code == 0, ended.output
    assert mainspring("runs", "--json").json != []
    examined = mainspring("doctor")
    assert examined.code == 0, examined.output
    assert server.ready["address"] in examined.out
    server.gets_healthy()


async def test_doctor_tells_of_a_part_of_another_version(
    server: Server, mainspring: Mainspring
) -> None:
    owner = read_owner(mainspring.home)
    assert owner is not None
    name = f"mainspring:4242:{hash_host_name('elsewhere')}:0.0.9"
    old = await asyncpg.connect(build_dsn(owner.socket), server_settings={"application_name": name})
    try:
        examined = await asyncio.to_thread(mainspring, "doctor")
    finally:
        await old.close()

    assert "1 process of 0.0.9" in examined.out, examined.output
    assert "0.0.9" not in mainspring("doctor").out


@pytest.mark.parametrize("name", ["api", "scheduler", "worker", "postgres"])
def test_a_part_that_was_killed_comes_back(server: Server, name: str) -> None:
    os.kill(server.pids[name], signal.SIGKILL)
    (again,) = server.until("restarted")["parts"]

    assert again["name"] == name
    assert again["pid"] != server.pids[name]
    server.pids[name] = again["pid"]
    server.gets_healthy()
    assert all(is_running(pid) for pid in server.everyone())


def test_a_run_that_was_left_is_finished_by_the_server(
    server: Server, mainspring: Mainspring
) -> None:
    """Comes after the kills: its worker has found the new database by itself."""
    server.gets_healthy()
    left = mainspring("run", EXAMPLES / "delay.json", "--input", "seconds=1", "--timeout", "0.3")
    assert left.code == 10, left.output

    wait_until(
        lambda: mainspring("runs", "--json").json["runs"][0]["status"] == "succeeded",
        PATIENCE,
        "the end of the run",
    )


# --- ends


def test_a_killed_supervisor_takes_everything_along_and_the_next_one_stops_in_order() -> None:
    with open_folder() as folder:
        mainspring = Mainspring(folder / "home")
        with up(mainspring) as server:
            everyone = server.everyone()
            server.process.kill()
            server.process.wait(PATIENCE)
            wait_until(lambda: not any(map(is_running, everyone)), 30.0, "the end of everyone")

        with up(mainspring, "--workers", "2") as server:
            server.gets_healthy()
            assert {"worker-1", "worker-2"} <= server.pids.keys()
            server.process.send_signal(signal.SIGTERM)
            server.until("stopping")
            server.until("stopped")
            assert server.process.wait(PATIENCE) == 0
            assert [pid for pid in server.everyone() if is_running(pid)] == []
            assert not server.is_healthy()


def test_a_person_is_shown_where_the_token_is_and_never_the_token(untouched: Mainspring) -> None:
    with untouched.started("up", "--port", "0") as process:
        assert process.stdout is not None
        output = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        output.append(process.stdout.read())
        assert process.wait(PATIENCE) == 0

    result = "".join(output)
    assert re.search(r"The API is at http://127\.0\.0\.1:\d+/api/v1\n", result)
    (file,) = re.findall(r"token +in (\S+)", result)
    token = (untouched.home / file).read_text().strip()
    assert TOKEN.search(token)
    assert token not in result
    assert "Ctrl-C" in result
    assert result.endswith("Stopped.\n")


def test_the_parts_run_apart(untouched: Mainspring) -> None:
    with (
        untouched.started("api", "--port", "0") as api,
        untouched.started("scheduler") as scheduler,
    ):
        assert api.stdout is not None
        assert scheduler.stdout is not None
        (address,) = re.findall(r"http://\S+", api.stdout.readline())
        assert "Watching" in scheduler.stdout.readline()
        assert httpx2.get(address + LIVE, timeout=PATIENCE).status_code == 200
        for process in (scheduler, api):
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0


def test_with_an_outside_database_two_servers_run_concurrently(
    mainspring: Mainspring, server: Server
) -> None:
    """The outside database is the shared server's own, reached by its address."""
    host = mainspring.home / "run"
    url = f"postgresql://mainspring@/mainspring?host={host}&port=5432"
    with open_folder() as folder:
        other = Mainspring(folder / "home")
        with up(other, settings={"database_url": url}) as second:
            assert second.ready["database"] == "outside"
            assert "postgres" not in second.pids
            second.gets_healthy()
            server.gets_healthy()
            second.process.send_signal(signal.SIGTERM)
            assert second.process.wait(PATIENCE) == 0
    server.gets_healthy()
