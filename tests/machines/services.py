"""The services machine: a Postgres, a Redis and the ledger.

The Postgres listens on the network and wants a password; the ledger is an address that steps
call, and it writes down every call: who was called, and how often, is not reported by the product.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mainspring.store.postgres_programs import choose_server_user, copy_for_user, find_binaries
from tests.kit.processes import wait_until
from tests.machines.network import Machine

POSTGRES_PORT, REDIS_PORT, LEDGER_PORT = 5432, 6379, 8080
_PASSWORD = "outside-of-the-house"
# The password of the ledger; it is in the vault of the application.
WORD = "open-the-book"
_PATIENCE = 60.0


def start_postgres(machine: Machine) -> str:
    """An empty database that others reach with a password; its URL."""
    files = machine.home / "postgres"
    account = choose_server_user(files)
    found = copy_for_user(find_binaries(), account, machine.home)
    machine.home.chmod(0o755)
    files.mkdir()
    secret = machine.home / "password"
    secret.write_text(_PASSWORD)
    as_user = ["setpriv", f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    for path in (files, secret):
        subprocess.run(["chown", account.name, str(path)], check=True)
    machine.ask(
        [
            *as_user,
            str(found.program("initdb")),
            "--pgdata",
            str(files),
            "--username=owner",
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "--no-sync",
            "--encoding=UTF8",
        ]
    )
    with (files / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 10.77.0.0/24 scram-sha-256\n")
    log = (machine.home / "postgres.log").open("w")
    machine.start(
        [
            *as_user,
            str(found.program("postgres")),
            "-D",
            str(files),
            "-p",
            str(POSTGRES_PORT),
            "-c",
            f"listen_addresses={machine.address}",
            "-c",
            "unix_socket_directories=",
        ],
        log,
    )
    url = f"postgresql://owner:{_PASSWORD}@{machine.address}:{POSTGRES_PORT}/postgres"
    wait_until(lambda: _answers(machine, url), _PATIENCE, "Postgres answers")
    ask_sql(machine, url, "CREATE DATABASE mainspring")
    return url.removesuffix("/postgres") + "/mainspring"


def _answers(machine: Machine, url: str) -> bool:
    try:
        return bool(ask_sql(machine, url, "SELECT 1"))
    except AssertionError:
        return False


def ask_sql(machine: Machine, url: str, statement: str) -> list[list[object]]:
    """Asked on a machine of the street: from outside there is no way to the others."""
    output = machine.ask([sys.executable, "-m", "tests.machines.services", "sql", url, statement])
    rows: list[list[object]] = json.loads(output)
    return rows


def start_redis(machine: Machine) -> str:
    log = (machine.home / "redis.log").open("w")
    machine.start(
        [
            "redis-server",
            "--port",
            str(REDIS_PORT),
            "--bind",
            machine.address,
            "--save",
            "",
            "--appendonly",
            "no",
            "--protected-mode",
            "no",
            "--dir",
            str(machine.home),
        ],
        log,
    )
    return f"redis://{machine.address}:{REDIS_PORT}/0"


def start_ledger(machine: Machine, step_ms: int) -> Path:
    """Answers every call after a while; the file has a line for each."""
    book = machine.home / "ledger"
    book.touch()
    words = ["ledger", machine.address, str(book), str(step_ms)]
    log = (machine.home / "ledger.log").open("w")
    machine.start([sys.executable, "-m", "tests.machines.services", *words], log)
    return book


def read_ledger(book: Path) -> Counter[str]:
    return Counter(book.read_text().split())


def _keep_ledger(address: str, book: Path, step_ms: int) -> None:
    one_at_a_time = threading.Lock()

    class SideEffectServer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.headers["Authorization"] != f"Bearer {WORD}":
                self.send_error(401)
                return
            with one_at_a_time, book.open("a") as file:
                file.write(self.path + "\n")
            time.sleep(step_ms / 1000)
            answer = b'{"noted":true}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """The book is enough."""

    server = ThreadingHTTPServer((address, LEDGER_PORT), SideEffectServer)
    server.daemon_threads = True
    server.serve_forever()


async def _sql(url: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url, timeout=10)
    rows = await connection.fetch(statement)
    await connection.close()
    sys.stdout.write(json.dumps([[str(cell) for cell in row.values()] for row in rows]))


def main() -> None:
    import asyncio

    match sys.argv[1:]:
        case ["sql", url, statement]:
            asyncio.run(_sql(url, statement))
        case ["ledger", address, book, step_ms]:
            _keep_ledger(address, Path(book), int(step_ms))


if __name__ == "__main__":
    main()
