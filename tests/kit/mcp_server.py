"""A server of tools on loopback that does what a test wants, good or bad, and a server of tokens.

It implements the protocol itself, so that it can also break it. Everything that was sent
to it is kept, with its headers. In a process of its own::

    python -m tests.kit.mcp_server --port 9000 [--auth bearer|oauth] [--token TOKEN]

where ``GET /_log`` tells what was sent and ``POST /_script`` sets any of the fields of
``Script`` (tools, mode, tokens, ...) while it runs.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import hashlib
import json
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson

OLD: Final = "2025-11-25"
NEW: Final = "2026-07-28"
JSON: Final = "Content-Type: application/json"

# What the server does instead of answering well.
MODES: Final = (
    "",
    "many_tools",  # 10,000 tools on one page
    "long_description",  # one tool, 5 MB of text
    "endless_pages",  # a new cursor on every page
    "same_page",  # the same cursor on every page
    "wrong_id",  # answers belong to another question
    "slow",  # no answer at all
    "huge_result",  # a result of several MB
    "redirect",  # to another origin
    "not_json",
    "html",
    "broken_tool",  # a tool without a schema
    "server_error",  # 503
    "forbidden",  # 403
    "asks_back",  # wants a person to be asked
    "stream",  # answers as a stream of events
    "notes_first",  # a stream with notifications and a request of its own before the answer
    "come_again",  # breaks a call off, and returns its answer to a retry
    "never_comes",  # breaks a call off, and again whenever its answer is asked for
    "hang_up",  # ends the connection in the middle
)

Answer = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    """One tool as a server tells it."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {
        "name": name,
        "description": description or f"Does {name}.",
        "inputSchema": schema,
    } | more


def echo(name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool that echoes its arguments; the tool ``fail`` fails."""
    text = orjson.dumps({"tool": name, "arguments": dict(arguments)}).decode()
    return {"content": [{"type": "text", "text": text}], "isError": name == "fail"}


@dataclass(slots=True)
class Script:
    """What a test may change while the server runs."""

    tools: list[dict[str, Any]] = field(default_factory=lambda: [tool("echo"), tool("fail")])
    mode: str = ""
    # What a call is answered with once it is done, as sent on the wire; None: its result.
    raw_reply: bytes | None = None
    # Tools per page; 0: all on one.
    page: int = 0
    # The versions that it knows: the new one, the old one, or both.
    versions: list[str] = field(default_factory=lambda: [OLD, NEW])
    # Accepted bearer tokens; None: any.
    tokens: list[str] | None = None
    # Whether the tokens of its own authorization server are accepted.
    oauth: bool = False
    # What is refused with 401 from the nth request on, once; 0: nothing.
    refuse_at: int = 0
    # Of the server of tokens.
    issuer: str = ""
    metadata_issuer: str = ""
    authorization_server: str = ""
    resource: str = ""
    lifetime: int | None = 3600
    rotate: bool = True
    token_delay: float = 0.0
    token_error: str = ""
    # Instead of tokens.
    token_answer: Any = None
    token_status: int = 400
    pkce: bool = True
    registration: bool = True
    send_iss: bool = True


@dataclass(slots=True)
class Sent:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def rpc(self) -> str:
        return str(self.body.get("method", "")) if isinstance(self.body, dict) else ""

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass(slots=True)
class McpDouble:
    """The server, and its authorization server."""

    script: Script = field(default_factory=Script)
    answer: Answer = echo
    port: int = 0
    sent: list[Sent] = field(default_factory=list)
    # The server of tokens: how often it was asked for what, and what it handed out.
    registered: dict[str, str] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    access: set[str] = field(default_factory=set)
    renewal: set[str] = field(default_factory=set)
    every_token: set[str] = field(default_factory=set)
    # Connections that were opened to it at all.
    dialled: int = 0
    exchanges: int = 0
    refreshes: int = 0
    _later: Mapping[str, Any] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.pair}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    @property
    def issuer(self) -> str:
        return self.script.issuer or self.origin

    def calls(self, method: str = "tools/call") -> list[Sent]:
        """What was asked of the protocol's method."""
        return [one for one in self.sent if one.rpc == method]

    def issue_tokens(self) -> tuple[str, str]:
        """An access token and a renewal token, as if somebody had signed in."""
        access, renewal = f"at-{secrets.token_urlsafe(24)}", f"rt-{secrets.token_urlsafe(24)}"
        self.access.add(access)
        self.renewal.add(renewal)
        self.every_token |= {access, renewal}
        return access, renewal

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.dialled += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, path, headers = _read_head(head)
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                output = await self._answered(
                    Sent(method, path, headers, _read_body(headers, body))
                )
                if not output:
                    break
                writer.write(output)
                await writer.drain()
        self._tasks.discard(task)
        writer.close()

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answered(self, sent: Sent) -> bytes:
        path = urlsplit(sent.path).path
        if path == "/_log":
            shown = [[one.method, one.path, one.headers, one.body] for one in self.sent]
            return _http(200, orjson.dumps(shown), JSON)
        if path == "/_script":
            for name in {entry.name for entry in fields(Script)} & sent.body.keys():
                setattr(self.script, name, sent.body[name])
            return _http(204, b"")
        self.sent.append(sent)
        if path == "/mcp":
            return await self._mcp(sent)
        return await self._tokens(sent, path)

    async def _mcp(self, sent: Sent) -> bytes:
        script = self.script
        if script.refuse_at and len(self.sent) >= script.refuse_at:
            script.refuse_at = 0
            self.access.discard(sent.token)
            return self._challenge()
        if not self._let_in(sent):
            return self._challenge()
        if script.mode == "slow":
            await asyncio.Event().wait()
        if script.mode == "hang_up":
            return b""
        plain = _PLAIN.get(script.mode)
        if plain is not None:
            return plain
        if script.mode == "never_comes" and (sent.method == "GET" or sent.rpc == "tools/call"):
            return _http(200, b"id: 8\nretry: 0\ndata:\n\n", "Content-Type: text/event-stream")
        if sent.method == "GET" and sent.headers.get("last-event-id") == "7":
            return _events([self._later])
        if sent.method != "POST":
            return _http(405, b"")
        if "id" not in sent.body or "method" not in sent.body:
            return _http(202, b"")
        return self._spoken(sent.body)

    def _let_in(self, sent: Sent) -> bool:
        script = self.script
        if script.tokens is None and not script.oauth:
            return True
        return sent.token in (script.tokens or []) or (script.oauth and sent.token in self.access)

    def _challenge(self) -> bytes:
        where = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
        return _http(401, b"", f'WWW-Authenticate: Bearer resource_metadata="{where}"')

    def _spoken(self, request: Mapping[str, Any]) -> bytes:
        mode = self.script.mode
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if mode == "wrong_id":
            message["id"] = 987_654
        message |= self._result(str(request["method"]), request.get("params") or {})
        if self.script.raw_reply is not None and request["method"] == "tools/call":
            return self.script.raw_reply
        if mode == "come_again" and request["method"] == "tools/call":
            self._later = message
            return _http(200, b"id: 7\nretry: 10\ndata:\n\n", "Content-Type: text/event-stream")
        if mode in {"stream", "notes_first"}:
            before = _NOTES if mode == "notes_first" else []
            return _events([*before, message])
        # The standard library also writes what no honest server would.
        return _http(200, json.dumps(message).encode(), JSON)

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        new = NEW in self.script.versions
        if method == "server/discover" and new:
            return {
                "result": {
                    "supportedVersions": [NEW],
                    "capabilities": {"tools": {}},
                    "resultType": "complete",
                    "ttlMs": 0,
                    "cacheScope": "private",
                }
            }
        if method == "initialize" and OLD in self.script.versions:
            info = {"name": "double", "version": "1"}
            return {
                "result": {
                    "protocolVersion": OLD,
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                }
            }
        more = {"resultType": "complete"} if new else {}
        if method == "tools/list":
            caching = {"ttlMs": 0, "cacheScope": "private"} if new else {}
            return {"result": self._page(params.get("cursor")) | more | caching}
        if method == "tools/call":
            return self._called(str(params["name"]), params.get("arguments") or {}, more)
        return {"error": {"code": -32601, "message": "Method not found"}}

    def _page(self, cursor: str | None) -> dict[str, Any]:
        mode, tools, size = self.script.mode, self.script.tools, self.script.page
        if mode == "many_tools":
            return {"tools": [tool(f"tool_{number}") for number in range(10_000)]}
        if mode == "long_description":
            return {"tools": [tool("long", "x" * 5_000_000)]}
        if mode == "broken_tool":
            return {"tools": [{"name": "broken"}]}
        if mode == "endless_pages":
            at = int(cursor or 0)
            some = [tool(f"tool_{at}_{number}") for number in range(20)]
            return {"tools": some, "nextCursor": str(at + 1)}
        if mode == "same_page":
            return {"tools": tools, "nextCursor": "again"}
        if not size:
            return {"tools": tools}
        at = int(cursor or 0)
        more = {"nextCursor": str(at + size)} if at + size < len(tools) else {}
        return {"tools": tools[at : at + size], **more}

    def _called(
        self, name: str, arguments: Mapping[str, Any], more: Mapping[str, Any]
    ) -> dict[str, Any]:
        mode = self.script.mode
        if mode == "huge_result":
            return {"result": {"content": [{"type": "text", "text": "x" * 3_000_000}], **more}}
        if mode == "asks_back":
            asking = {"method": "roots/list", "params": {}}
            return {
                "result": {
                    "resultType": "input_required",
                    "inputRequests": {"one": asking},
                    "requestState": "waiting",
                }
            }
        if name not in {one["name"] for one in self.script.tools}:
            return {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}
        return {"result": {**self.answer(name, arguments), **more}}

    async def _tokens(self, sent: Sent, path: str) -> bytes:
        if path.startswith("/.well-known/oauth-protected-resource"):
            servers = [self.script.authorization_server or self.issuer]
            known = {"resource": self.script.resource or self.url, "authorization_servers": servers}
            return _http(200, orjson.dumps(known), JSON)
        if path.startswith("/.well-known/oauth-authorization-server"):
            return _http(200, orjson.dumps(self._metadata()), JSON)
        if path == "/register" and self.script.registration:
            client_id = f"client-{len(self.registered)}"
            self.registered[client_id] = ""
            return _http(201, orjson.dumps({**sent.body, "client_id": client_id}), JSON)
        if path == "/authorize":
            return self._authorized(dict(parse_qsl(urlsplit(sent.path).query)))
        if path == "/token":
            # The body is a form.
            return await self._token(sent.body)
        return _http(404, b"")

    def _metadata(self) -> dict[str, Any]:
        known: dict[str, Any] = {
            "issuer": self.script.metadata_issuer or self.issuer,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
            "scopes_supported": ["tools", "offline_access"],
            "authorization_response_iss_parameter_supported": self.script.send_iss,
        }
        if self.script.pkce:
            known["code_challenge_methods_supported"] = ["S256"]
        if self.script.registration:
            known["registration_endpoint"] = f"{self.origin}/register"
        return known

    def _authorized(self, request: Mapping[str, str]) -> bytes:
        """Agrees at once, as somebody would who is asked."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = dict(request)
        back = {"code": code, "state": request["state"]}
        if self.script.send_iss:
            back["iss"] = self.issuer
        return _http(302, b"", f"Location: {request['redirect_uri']}?{urlencode(back)}")

    async def _token(self, form: Mapping[str, str]) -> bytes:
        refreshing = form.get("grant_type") == "refresh_token"
        self.refreshes += refreshing
        self.exchanges += not refreshing
        if self.script.token_error:
            text = orjson.dumps({"error": self.script.token_error, "error_description": "No."})
            return _http(self.script.token_status, text, JSON)
        good = self._renews(form) if refreshing else self._redeems(form)
        # What was used is used up, also if the answer never arrives.
        await asyncio.sleep(self.script.token_delay)
        if not good:
            return _http(400, orjson.dumps({"error": "invalid_grant"}), JSON)
        if self.script.token_answer is not None:
            return _http(200, orjson.dumps(self.script.token_answer), JSON)
        access, renewal = self.issue_tokens()
        made: dict[str, Any] = {"access_token": access, "token_type": "bearer"}
        if self.script.lifetime is not None:
            made["expires_in"] = self.script.lifetime
        if not refreshing or self.script.rotate:
            made["refresh_token"] = renewal
        return _http(200, orjson.dumps(made), JSON)

    def _renews(self, form: Mapping[str, str]) -> bool:
        token = form.get("refresh_token", "")
        if token not in self.renewal:
            return False
        if self.script.rotate:
            self.renewal.discard(token)
        return True

    def _redeems(self, form: Mapping[str, str]) -> bool:
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None:
            return False
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return (
            asked["code_challenge"] == challenge
            and asked["code_challenge_method"] == "S256"
            and all(asked[name] == form.get(name) for name in ("redirect_uri", "resource"))
            and asked["client_id"] == form.get("client_id")
        )


def _http(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _events(messages: list[Mapping[str, Any]]) -> bytes:
    body = b"".join(b"event: message\ndata: " + orjson.dumps(one) + b"\n\n" for one in messages)
    return _http(200, body, "Content-Type: text/event-stream")


def _read_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *rest = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = [line.partition(":") for line in rest if line]
    return method, path, {name.lower(): value.strip() for name, _, value in pairs}


def _read_body(headers: Mapping[str, str], body: bytes) -> Any:
    form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    if form and not body.startswith(b"{"):
        return dict(parse_qsl(body.decode()))
    return orjson.loads(body) if body else {}


_PLAIN: Final[Mapping[str, bytes]] = {
    "redirect": _http(307, b"", "Location: http://127.0.0.2:9/mcp"),
    "not_json": _http(200, b"{not json", JSON),
    "html": _http(200, b"<html>Welcome</html>", "Content-Type: text/html"),
    "server_error": _http(503, b"", "Retry-After: 7"),
    "forbidden": _http(403, b"{}", JSON),
}
_NOTES: Final[list[Mapping[str, Any]]] = [
    {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "info", "data": "working"},
    },
    {
        "jsonrpc": "2.0",
        "id": "ask-1",
        "method": "sampling/createMessage",
        "params": {"messages": [], "maxTokens": 5},
    },
]


@contextlib.asynccontextmanager
async def mcp_server(double: McpDouble | None = None, port: int = 0) -> AsyncIterator[McpDouble]:
    """Serves on a port of loopback until the block ends."""
    made = double or McpDouble()
    server = await asyncio.start_server(made.serve, "127.0.0.1", port)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.stop()
        await server.wait_closed()


async def _run(port: int, script: Script) -> None:
    async with mcp_server(McpDouble(script), port) as double:
        sys.stdout.write(f"{double.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve tools that a test scripts.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--auth", choices=("none", "bearer", "oauth"), default="none")
    parser.add_argument("--token", action="append", default=[])
    asked = parser.parse_args()
    script = Script(oauth=asked.auth == "oauth")
    if asked.auth == "bearer":
        script.tokens = asked.token
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(asked.port, script))


if __name__ == "__main__":
    main()
