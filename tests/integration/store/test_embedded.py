"""The embedded server: its start, its end, and everything that may go wrong between."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from mainspring.contracts.errors import Conflict, InternalError, Invalid
from mainspring.store.embedded import EmbeddedServer, build_dsn
from mainspring.store.postgres_programs import (
    SystemUser,
    choose_server_user,
    copy_for_user,
    find_binaries,
    find_inaccessible_path,
)
from tests.kit.postgres import open_folder
from tests.kit.processes import end_in_order, first_line, is_running, module_process, wait_until
from tests.kit.runaway import RUNAWAY

IS_ROOT = os.geteuid() == 0
Starter = Callable[[Path], EmbeddedServer]


@pytest.fixture
def started() -> Iterator[Starter]:
    """Starts servers and stops them after the test."""
    servers: list[EmbeddedServer] = []

    def start(home: Path) -> EmbeddedServer:
        # What a killed process has written is in the system's hands already.
        server = EmbeddedServer(home, extra_settings={"fsync": "off"})
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()


async def ask(dsn: str, *statements: str) -> object:
    """Executes statements, each durable by itself; answers the last one's value."""
    connection = await asyncpg.connect(dsn)
    try:
        value: object = None
        for statement in statements:
            value = await connection.fetchval(statement)
        return value
    finally:
        await connection.close()


def run(dsn: str, *statements: str) -> object:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(ask(dsn, *statements))


def keep_a_row(dsn: str) -> None:
    run(dsn, "CREATE TABLE kept (n integer)", "INSERT INTO kept VALUES (7)")


def kept_row(dsn: str) -> object:
    return run(dsn, "SELECT n FROM kept")


def test_a_first_start_makes_the_database_and_a_later_one_finds_it_again(
    data_home: Path, started: Starter
) -> None:
    first = started(data_home)
    keep_a_row(first.dsn)
    pid = first.pid
    first.stop()

    assert pid is not None
    assert not is_running(pid)
    assert (first.pid, first.alive()) == (None, False)
    assert kept_row(started(data_home).dsn) == 7


def test_starting_a_server_that_runs_changes_nothing(used_home: Path, started: Starter) -> None:
    server = started(used_home)
    pid = server.pid

    server.start()

    assert server.pid == pid


def test_a_second_owner_is_refused_with_the_first_one_and_a_remedy(
    used_home: Path, started: Starter
) -> None:
    started(used_home)

    with pytest.raises(Conflict) as caught:
        started(used_home)

    problem = caught.value
    assert f"(process {os.getpid()})" in problem.detail
    assert str(used_home) in problem.detail
    assert problem.code == "data_folder_in_use"
    assert "MAINSPRING_HOME" in (problem.suggestion or "")


def test_a_folder_that_was_given_back_can_be_owned_again(used_home: Path, started: Starter) -> None:
    started(used_home).stop()

    assert started(used_home).alive()


def test_kill_9_of_postgres_loses_no_committed_row_and_the_next_start_heals(
    used_home: Path, started: Starter
) -> None:
    server = started(used_home)
    run(server.dsn, "CREATE TABLE kept (n integer)")

    for n in range(3):
        run(server.dsn, f"INSERT INTO kept VALUES ({n})")
        killed = server.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: not server.alive(), 5, "the server is gone")
        server.start()

        assert server.pid not in {None, killed}
        assert run(server.dsn, "SELECT count(*) FROM kept") == n + 1


async def test_a_busy_child_of_a_killed_postgres_does_not_block_the_next_start(
    used_home: Path,
) -> None:
    server = EmbeddedServer(used_home)
    await server.start_async()
    busy = await asyncpg.connect(server.dsn)
    await busy.execute(
        "CREATE FUNCTION spin() RETURNS void LANGUAGE plpgsql AS 'BEGIN LOOP END LOOP; END'"
    )
    spinning = asyncio.create_task(busy.execute("SELECT spin()"))
    watcher = await asyncpg.connect(server.dsn)
    while not await watcher.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT spin()'"
    ):
        await asyncio.sleep(0.01)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: not server.alive(), 5, "the server is gone")
    begun = time.monotonic()

    try:
        await server.start_async()

        assert time.monotonic() - begun < RUNAWAY
        assert await ask(server.dsn, "SELECT 1") == 1
    finally:
        await server.stop_async()
        await asyncio.gather(spinning, return_exceptions=True)
        watcher.terminate()
        busy.terminate()


def test_kill_9_of_the_owner_leaves_no_orphan_and_the_next_start_heals(
    used_home: Path, started: Starter
) -> None:
    with module_process("tests.kit.owner_process", [str(used_home)]) as owner:
        postgres = int(first_line(owner))
        keep_a_row(build_dsn(used_home / "run"))
        with pytest.raises(Conflict, match=rf"\(process {owner.pid}\)"):
            started(used_home)

        owner.kill()
        owner.wait()
        # At once, while the old server may still be on its way out.
        server = started(used_home)

    assert kept_row(server.dsn) == 7
    assert not is_running(postgres)


def test_kill_9_of_the_owner_stops_its_postgres_when_nobody_starts_another(
    used_home: Path,
) -> None:
    with module_process("tests.kit.owner_process", [str(used_home)]) as owner:
        postgres = int(first_line(owner))
        owner.kill()
        owner.wait()

        wait_until(lambda: not is_running(postgres), 10, "the server follows its owner")


def test_kill_9_of_owner_and_postgres_together_heals(used_home: Path, started: Starter) -> None:
    with module_process("tests.kit.owner_process", [str(used_home)]) as owner:
        postgres = int(first_line(owner))
        keep_a_row(build_dsn(used_home / "run"))
        os.kill(postgres, signal.SIGKILL)
        owner.kill()
        owner.wait()

    assert kept_row(started(used_home).dsn) == 7


def test_an_owner_that_ends_in_order_takes_its_postgres_with_it(used_home: Path) -> None:
    with module_process("tests.kit.owner_process", [str(used_home)]) as owner:
        postgres = int(first_line(owner))

        assert end_in_order(owner) == 0
        assert not is_running(postgres)


def test_a_pid_file_that_names_a_living_stranger_does_not_stop_the_start(
    used_home: Path, started: Starter
) -> None:
    account = choose_server_user(used_home / "postgres" / "data")
    user = {"user": account.uid, "group": account.gid} if account.switched else {}
    stranger = subprocess.Popen(["sleep", "60"], **user)  # type: ignore[call-overload]
    try:
        data = used_home / "postgres" / "data"
        for file in (data / "postmaster.pid", used_home / "run" / ".s.PGSQL.5432.lock"):
            file.write_text(f"{stranger.pid}\n{data}\n1\n5432\n\n\n 1 1\nready\n")
            os.chown(file, account.uid, account.gid)

        assert run(started(used_home).dsn, "SELECT 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_what_a_kill_during_the_first_start_leaves_is_made_anew(
    data_home: Path, started: Starter
) -> None:
    half = data_home / "postgres" / "data.new"
    half.mkdir(parents=True)
    data_home.chmod(0o711)
    (half / "PG_VERSION").write_text("18\n")

    server = started(data_home)

    assert run(server.dsn, "SELECT current_database()") == "mainspring"
    assert not half.exists()


def ordinary_user() -> pwd.struct_passwd:
    return pwd.getpwnam("daemon") if IS_ROOT else pwd.getpwuid(os.getuid())


def interpreter_for(user: pwd.struct_passwd) -> str:
    """One that this user may run: root's own may lie in a private folder."""
    account = SystemUser(user.pw_uid, user.pw_gid, user.pw_name, switched=True)
    usual = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    for found in filter(None, (sys.executable, usual)):
        if find_inaccessible_path(account, Path(found)) is None:
            return found
    raise AssertionError("this test needs an interpreter that other users may run")


def test_an_ordinary_user_can_own_a_data_folder() -> None:
    user = ordinary_user()
    with open_folder() as folder:
        private = folder / "private"
        private.mkdir(mode=0o700)
        os.chown(private, user.pw_uid, user.pw_gid)
        become = [str(user.pw_uid), str(user.pw_gid), interpreter_for(user)] if IS_ROOT else []
        home = private / "home"
        with module_process("tests.kit.owner_process", [str(home), *become]) as owner:
            postgres = int(first_line(owner))

            assert run(build_dsn(home / "run"), "SELECT 1") == 1
            assert os.stat(home / "postgres" / "data").st_uid == user.pw_uid
            assert stat.S_IMODE(home.stat().st_mode) == 0o700

            assert end_in_order(owner) == 0
        assert not is_running(postgres)


def test_root_runs_the_server_as_the_owner_of_the_files(data_home: Path, started: Starter) -> None:
    server = started(data_home)
    data = data_home / "postgres" / "data"
    expected = pwd.getpwnam("nobody").pw_uid if IS_ROOT else os.geteuid()

    assert data.stat().st_uid == expected
    assert Path(f"/proc/{server.pid}").stat().st_uid == expected
    assert choose_server_user(data).uid == expected


def test_files_of_an_ordinary_user_are_served_by_that_user(
    used_home: Path, started: Starter
) -> None:
    user = ordinary_user()
    subprocess.run(["chown", "-R", str(user.pw_uid), used_home / "postgres"], check=True)

    server = started(used_home)

    assert run(server.dsn, "SELECT 1") == 1
    assert Path(f"/proc/{server.pid}").stat().st_uid == user.pw_uid


def test_nobody_else_may_reach_the_server(data_home: Path, started: Starter) -> None:
    server = started(data_home)

    assert run(server.dsn, "SHOW listen_addresses") == ""
    assert stat.S_IMODE((data_home / "run").stat().st_mode) == 0o700
    assert stat.S_IMODE((data_home / "postgres").stat().st_mode) == 0o700
    assert stat.S_IMODE((data_home / "postgres.log").stat().st_mode) == 0o600


def test_what_is_committed_is_forced_to_disk(used_home: Path) -> None:
    server = EmbeddedServer(used_home)
    server.start()
    dsn = server.dsn

    shown = [run(dsn, f"SHOW {name}") for name in ("fsync", "synchronous_commit", "timezone")]

    shown.append(run(dsn, "SHOW full_page_writes"))
    server.stop()

    assert shown == ["on", "on", "UTC", "on"]


def test_the_server_gets_nothing_of_our_environment(
    used_home: Path, started: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_TEST_SECRET", "hidden")
    server = started(used_home)

    assert b"hidden" not in Path(f"/proc/{server.pid}/environ").read_bytes()


def test_statements_and_values_are_not_kept_in_the_log(used_home: Path, started: Starter) -> None:
    server = started(used_home)
    run(server.dsn, "CREATE TABLE once (word text PRIMARY KEY)", "INSERT INTO once VALUES ('hush')")

    with pytest.raises(asyncpg.UniqueViolationError):
        run(server.dsn, "INSERT INTO once VALUES ('hush')")
    with pytest.raises(asyncpg.InvalidTextRepresentationError):
        run(server.dsn, "SELECT word::integer FROM once WHERE word = 'hush'")

    assert "hush" not in (used_home / "postgres.log").read_text()


@pytest.mark.parametrize("name", ["h" * 120, "a, b", 'with "quotes" and blanks'])
def test_a_data_folder_may_have_any_name(started: Starter, name: str) -> None:
    with open_folder() as folder:
        server = started(folder / name)

        assert run(server.dsn, "SELECT 1") == 1
        (socket,) = str(run(server.dsn, "SHOW unix_socket_directories")).strip('"').splitlines()
        private = Path(socket.replace('""', '"'))
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        server.stop()
        if private.parent == Path("/tmp"):
            shutil.rmtree(private)


def test_a_file_in_the_place_of_the_data_folder_is_reported(
    data_home: Path, started: Starter
) -> None:
    data_home.write_text("in the way")

    with pytest.raises(Invalid) as caught:
        started(data_home)

    assert caught.value.code == "data_folder_not_writable"
    assert str(data_home) in caught.value.detail
    assert "MAINSPRING_HOME" in (caught.value.suggestion or "")


def test_a_folder_that_the_server_cannot_use_is_named(started: Starter) -> None:
    with open_folder() as folder:
        closed = folder / "closed"
        # Root passes through every folder, its server does not; others cannot even write.
        closed.mkdir(mode=0o700 if IS_ROOT else 0o500)

        with pytest.raises(Invalid) as caught:
            started(closed / "home")

    named = closed if IS_ROOT else closed / "home"
    code = "data_folder_unreachable" if IS_ROOT else "data_folder_not_writable"
    assert str(named) in caught.value.detail
    assert caught.value.code == code
    assert "MAINSPRING_HOME" in (caught.value.suggestion or "")


def test_files_of_another_version_are_left_alone(used_home: Path, started: Starter) -> None:
    version = used_home / "postgres" / "data" / "PG_VERSION"
    version.write_text("9\n")

    with pytest.raises(Conflict, match="Postgres 9") as caught:
        started(used_home)

    assert caught.value.code == "other_postgres_version"


def test_a_start_that_fails_gives_the_folder_back(used_home: Path, started: Starter) -> None:
    control = used_home / "postgres" / "data" / "global" / "pg_control"
    kept = control.read_bytes()
    control.write_bytes(b"")

    with pytest.raises(InternalError) as caught:
        started(used_home)
    control.write_bytes(kept)

    assert caught.value.code == "database_start_failed"
    assert "pg_control" not in str(caught.value.as_dict())
    assert started(used_home).alive()


def test_programs_out_of_the_server_users_reach_are_put_into_the_data_folder(
    data_home: Path,
) -> None:
    found = find_binaries()
    assert found.package is not None
    stranger = SystemUser(54321, 54321, "stranger", switched=True)
    data_home.mkdir(mode=0o711)
    with open_folder() as folder:
        closed = folder / "closed"
        closed.mkdir(mode=0o700)
        for part in (found.package, found.package.with_name(found.package.name + ".libs")):
            shutil.copytree(part, closed / part.name, ignore=shutil.ignore_patterns("include"))
        package = closed / found.package.name
        hidden = type(found)(
            package / found.folder.relative_to(found.package), found.major, found.release, package
        )

        copied = copy_for_user(hidden, stranger, data_home)

    assert find_inaccessible_path(stranger, copied.program("initdb")) is None
    assert list(data_home.iterdir()) == [data_home / f"postgres-{found.release}"]
    # The place they came from is gone, so what runs here needs nothing of it.
    for name in ("postgres", "initdb", "pg_dump"):
        said = subprocess.run([copied.program(name), "--version"], capture_output=True, check=True)
        assert b"PostgreSQL" in said.stdout
    assert copy_for_user(copied, stranger, data_home) == copied


def test_the_server_is_only_started_from_the_main_thread(data_home: Path) -> None:
    caught: list[BaseException] = []

    def start() -> None:
        try:
            EmbeddedServer(data_home).start()
        except InternalError as problem:
            caught.append(problem)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()

    assert "main thread" in str(caught[0])


def test_a_log_that_has_grown_is_set_aside_at_the_next_start(
    used_home: Path, started: Starter
) -> None:
    log = used_home / "postgres.log"
    log.write_bytes(b"x" * 5_000_000)

    started(used_home)

    assert log.stat().st_size < 100_000
    assert log.with_suffix(".log.1").stat().st_size == 5_000_000
