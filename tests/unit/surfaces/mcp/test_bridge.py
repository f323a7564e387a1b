"""``mcp --url``: a server that is not there is said, and nothing waits for what cannot come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import IO, Any

import pytest

DEADLINE = 30.0


class _Stub(BaseHTTPRequestHandler):
    """Refuses GET as a server without streams does, and answers each message with its id."""

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Bearer msk_known"
        self.send_response(405 if known else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def _stub(port: int = 0) -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", port), _Stub) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _begin(home: Path, url: str, stdin: int | IO[str], token: str = "msk_known") -> Any:
    return subprocess.Popen(
        [sys.executable, "-m", "mainspring", "mcp", "--url", url],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "MAINSPRING_HOME": str(home), "MAINSPRING_TOKEN": token},
    )  # fmt: skip


def test_a_server_that_is_not_there_is_said_while_stdin_is_still_open(tmp_path: Path) -> None:
    child = _begin(tmp_path, "http://127.0.0.1:1", subprocess.PIPE)
    try:
        assert child.wait(DEADLINE) == 1
        assert "The server at http://127.0.0.1:1 cannot be reached." in child.stderr.read()
        assert child.stdout.read() == ""
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize(
    ("token", "code", "said"),
    [("msk_known", 0, ""), ("msk_other", 1, "does not know this token."), ("msk_…", 1, "no token")],
)
def test_a_closed_stdin_ends_it_at_once_and_a_wrong_token_is_said(
    tmp_path: Path, token: str, code: int, said: str
) -> None:
    with _stub() as server:
        child = _begin(
            tmp_path, f"http://127.0.0.1:{server.server_port}", subprocess.DEVNULL, token
        )
        out, told = child.communicate(timeout=DEADLINE)

    assert (child.returncode, out) == (code, "")
    assert said in told


def test_a_request_is_answered_also_while_the_server_has_gone_away(tmp_path: Path) -> None:
    with _stub() as server:
        child = _begin(tmp_path, f"http://127.0.0.1:{server.server_port}", subprocess.PIPE)
        first = _ask(child, 1)
    child.stdin.write('{"jsonrpc": "2.0", "method": "notifications/cancelled"}\n')
    gone = _ask(child, 2)
    with _stub(server.server_port):
        back = _ask(child, 3)
        _, logged = child.communicate(timeout=DEADLINE)

    assert first == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert gone["id"] == 2
    assert gone["error"]["message"].endswith("cannot be reached.")
    assert (back["id"], "result" in back) == (3, True)
    assert (child.returncode, logged) == (0, "")


def _ask(child: Any, number: int) -> Any:
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}) + "\n")
    child.stdin.flush()
    return json.loads(child.stdout.readline())
