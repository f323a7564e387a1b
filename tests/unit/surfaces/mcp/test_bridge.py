"""``mcp --url``: a server that is not there is said, and nothing waits for what cannot come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import IO, Any, ClassVar

import pytest

from mainspring.settings import Settings
from mainspring.surfaces.cli.running_server import hold_data_folder

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
def _stub(port: int = 0, handler: type[BaseHTTPRequestHandler] = _Stub) -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", port), handler) as server:
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
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "MAINSPRING_HOME": str(home), "MAINSPRING_TOKEN": token},
    )


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
    ("token", "code", "text"),
    [
        ("msk_known", 0, ""),
        ("msk_other", 1, "does not accept this token."),
        ("msk_…", 1, "no token"),
    ],
)
def test_a_closed_stdin_ends_it_at_once_and_a_wrong_token_is_said(
    tmp_path: Path, token: str, code: int, text: str
) -> None:
    with _stub() as server:
        child = _begin(
            tmp_path, f"http://127.0.0.1:{server.server_port}", subprocess.DEVNULL, token
        )
        out, result = child.communicate(timeout=DEADLINE)

    assert (child.returncode, out) == (code, "")
    assert text in result


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


def test_with_a_server_running_messages_are_forwarded_to_it(tmp_path: Path) -> None:
    """Without loading the application, which takes seconds."""
    settings = Settings(home=tmp_path, database_url="postgresql://u@localhost/d", host="0.0.0.0")
    with _stub() as server, hold_data_folder(replace(settings, port=server.server_port)):
        # A proxy would be shown the token; there is none at this address either.
        proxy = {"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"}
        child = subprocess.Popen(
            [sys.executable, "-m", "mainspring", "--home", str(tmp_path), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "MAINSPRING_TOKEN": "msk_known", **proxy, "NO_PROXY": ""},
        )
        assert child.stdin is not None
        child.stdin.write("no message\n")
        refused = _line(child)
        answer = _ask(child, 7)
        child.communicate(timeout=DEADLINE)
    assert (refused["id"], refused["error"]["code"]) == (None, -32700)
    assert answer == {"jsonrpc": "2.0", "id": 7, "result": {}}


class _Streaming(_Stub):
    """Answers as a stream: a notification first, then the result; one call is refused."""

    headers_seen: ClassVar[list[dict[str, str]]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
        if asked["method"] == "refused":
            self._reply(403, "application/problem+json", {"detail": "Not with this token."})
            return
        if asked["method"] == "invalid":
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "No."}}
            self._reply(400, "application/json", error)
            return
        if asked["method"] == "no object":
            self._reply(200, "application/json", '"a text"')
            return
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        result = {"protocolVersion": "2025-06-18", "text": "line\u2028separator"}
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
        texts = (json.dumps(m, ensure_ascii=False) for m in (progress, answer))
        body = "".join(f"event: message\ndata: {text}\n\n" for text in texts)
        self._reply(200, "text/event-stream", body)

    def _reply(self, status: int, kind: str, body: Any) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def test_streamed_answers_refusals_and_headers(tmp_path: Path) -> None:
    _Streaming.headers_seen.clear()
    with _stub(handler=_Streaming) as server:
        child = _begin(tmp_path, f"http://127.0.0.1:{server.server_port}", subprocess.PIPE)
        child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
        first, second = _line(child), _line(child)
        child.stdin.write('{"jsonrpc":"2.0","id":"b","method":"refused"}\n')
        refused = _line(child)
        child.stdin.write('{"jsonrpc":"2.0","id":8,"method":"invalid"}\n')
        invalid = _line(child)
        child.stdin.write('{"jsonrpc":"2.0","id":9,"method":"no object"}\n')
        no_object = _line(child)
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        params = {"name": "żółw", "_meta": meta}
        call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
        child.stdin.write(json.dumps(call) + "\n")
        third = [_line(child), _line(child)][1]
        child.communicate(timeout=DEADLINE)

    assert first["method"] == "notifications/progress"
    assert (second["id"], third["id"]) == (1, 3)
    assert (refused["id"], refused["error"]["message"]) == ("b", "Not with this token.")
    assert second["result"]["text"] == "line\u2028separator"
    assert (invalid["id"], invalid["error"]["message"]) == (8, "No.")
    assert (no_object["id"], no_object["error"]["code"]) == (9, -32603)
    begun, later, *_, modern = _Streaming.headers_seen
    assert "mcp-protocol-version" not in begun
    assert later["mcp-protocol-version"] == "2025-06-18"
    assert modern["mcp-protocol-version"] == "2026-07-28"
    assert (modern["mcp-method"], modern["mcp-name"]) == ("tools/call", "=?base64?xbzDs8WCdw==?=")


def _line(child: Any) -> Any:
    child.stdin.flush()
    return json.loads(child.stdout.readline())


def _ask(child: Any, number: int) -> Any:
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}) + "\n")
    child.stdin.flush()
    return json.loads(child.stdout.readline())
