"""A provider of models on loopback: it speaks the wires of Anthropic and OpenAI from a script.

It reads a request as strictly as the real ones, refuses what they refuse, in their words, and
keeps everything that it was sent. In a test::

    async with model_server(["Hello.", Answer(calls=(Call("look", {"at": "x"}),))]) as server:
        ...  # Endpoint("anthropic", server.url, …), Endpoint("openai", server.openai_url, …)
        server.seen[0].last_text

The script may also be a function of a request, or ``echo`` or ``obedient`` by name (see
``model_behaviours``). For another process it runs as a program, with the script in a file::

    python -m tests.kit.model_server --port 9100 --script script.json

where the file holds a list of answers, or ``{"answers": [...], "then": "obedient", "key": "…"}``.
``GET /log`` tells what was sent so far, and ``POST /script`` gives it another script.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit import model_anthropic, model_openai
from tests.kit.model_behaviours import echo, obedient
from tests.kit.model_script import Answer, Call, Entry, Mind, Seen, as_entries

__all__ = ["Answer", "Call", "ModelServer", "Seen", "echo", "model_server", "obedient"]

HUGE = 64 * 1_048_576
_MINDS: dict[str, Mind] = {"echo": echo, "obedient": obedient}
_JSON = {"content-type": "application/json"}
_OPENAI_PATHS = ("/chat/completions", "/embeddings")

Script = str | Sequence[Entry] | Mind | Mapping[str, Any]


@dataclass(slots=True)
class ModelServer:
    """What was asked, and what is answered."""

    script: list[Answer] = field(default_factory=list)
    # What answers when the script has nothing for a request; None: it is refused.
    mind: Mind | None = None
    # The key that it accepts; None: any, or none.
    key: str | None = None
    # The models that there are; None: whatever is asked for.
    models: frozenset[str] | None = None
    # A server that only knows the fields that every compatible server knows.
    plain: bool = False
    # How long every answer takes.
    seconds: float = 0.0
    # Every request that was accepted or refused, in order.
    seen: list[Seen] = field(default_factory=list)
    # What was refused because the real ones would, in their words.
    refusals: list[str] = field(default_factory=list)
    # What went wrong in the double itself; it is raised when its block ends.
    faults: list[Exception] = field(default_factory=list)
    at_work: int = 0
    # The most that it was at work on at one time.
    most: int = 0
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def pair(self) -> str:
        """Host and port, as egress allows them."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base of Anthropic's wire."""
        return f"http://{self.pair}"

    @property
    def openai_url(self) -> str:
        """The base of OpenAI's wire, and of those that are compatible with it."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> list[Mapping[str, Any]]:
        """The bodies of everything that was asked."""
        return [seen.body for seen in self.seen]

    @property
    def count(self) -> int:
        return len(self.seen)

    def play(self, script: Script) -> None:
        """Takes another script in place of what is left of the one before."""
        self.script, self.mind = [], None
        if isinstance(script, str):
            self.mind = _MINDS[script]
        elif isinstance(script, Mapping):
            self._configure(script)
        elif callable(script):
            self.mind = script
        else:
            self.script = as_entries(script)

    def _configure(self, script: Mapping[str, Any]) -> None:
        self.script = as_entries(script.get("answers", ()))
        self.mind = _MINDS.get(script.get("then", "refuse"))
        self.key = script.get("key", self.key)
        models = script.get("models")
        self.models = self.models if models is None else frozenset(models)
        self.plain = bool(script.get("plain", self.plain))
        self.seconds = float(script.get("seconds", self.seconds))

    def answer_to(self, seen: Seen) -> Answer:
        """The next answer of the script that fits a request."""
        whole = json.dumps(seen.body, ensure_ascii=False)
        for place, entry in enumerate(self.script):
            if entry.when in whole:
                return entry if entry.keep else self.script.pop(place)
        if self.mind is not None:
            return self.mind(seen)
        return Answer(status=400, error="The script of this double has no answer left.")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._exchange(reader, writer):
                await writer.drain()
        writer.close()
        self._tasks.discard(task)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Reads one request and answers it; whether the connection may go on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        pairs = [line.partition(":") for line in head[1:] if line]
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path = target.partition("?")[0]
        if path in {"/log", "/script"}:
            writer.write(_http(200, self._control(path, body)))
            return True
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        try:
            return await self._answered(_read(method, path, headers, body), writer)
        except (OSError, asyncio.IncompleteReadError):
            raise
        except Exception as error:
            self.faults.append(error)
            writer.write(_http(400, {"error": {"message": "The double itself failed."}}))
            return True
        finally:
            self.at_work -= 1

    def _control(self, path: str, body: bytes) -> Any:
        if path == "/script":
            self.play(json.loads(body))
            return {"taken": True}
        return {
            "count": self.count,
            "requests": [seen.as_dict() for seen in self.seen],
            "refusals": self.refusals,
        }

    async def _answered(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        if seen.path.endswith("/models") and seen.method == "GET":
            names = sorted(self.models or {"double-1"})
            data = [{"id": name, "object": "model", "type": "model"} for name in names]
            writer.write(_http(200, {"object": "list", "data": data, "has_more": False}))
            return True
        self.seen.append(seen)
        refused = self._refused(seen)
        if refused is not None:
            self.refusals.append(refused[1])
            writer.write(_http(refused[0], _error(seen, *refused)))
            return True
        answer = Answer() if seen.wire == "embeddings" and not self.script else self.answer_to(seen)
        await asyncio.sleep(answer.seconds + self.seconds)
        return await self._sent(seen, answer, writer)

    def _refused(self, seen: Seen) -> tuple[int, str] | None:
        if seen.wire == "other" or seen.method != "POST":
            return 404, f"Unknown request URL: {seen.method} {seen.path}."
        if seen.wire == "anthropic":
            refused = model_anthropic.refusal(seen, self.key)
        else:
            refused = model_openai.refusal(seen, self.key, plain=self.plain)
        if refused is None and self.models is not None and seen.model not in self.models:
            if seen.wire == "anthropic":
                return 404, f"model: {seen.model}"
            return 404, f"The model `{seen.model}` does not exist or you do not have access to it."
        return refused

    async def _sent(self, seen: Seen, answer: Answer, writer: asyncio.StreamWriter) -> bool:
        if answer.broken == "never":
            await asyncio.Event().wait()
        if answer.broken == "hang_up":
            return False
        whole = _whole(seen, answer)
        if answer.broken == "cut":
            writer.write(whole[: -max(len(whole) // 4, 10)])
            await writer.drain()
            return False
        if answer.broken == "huge":
            return await _flood(writer)
        writer.write(whole)
        return True

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _read(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Seen:
    try:
        given = json.loads(body or b"{}")
    except ValueError:
        given = {}
    given = given if isinstance(given, dict) else {}
    if path.endswith("/messages"):
        return model_anthropic.read(given, method, path, headers)
    if path.endswith(_OPENAI_PATHS):
        return model_openai.read(given, method, path, headers)
    return Seen("other", method, path, headers, given)


def _error(seen: Seen, status: int, sentence: str, kind: str = "") -> dict[str, Any]:
    if seen.wire == "anthropic":
        return model_anthropic.spell_error(status, sentence, kind)
    return model_openai.spell_error(status, sentence, kind)


def _whole(seen: Seen, answer: Answer) -> bytes:
    """The whole answer on the wire."""
    if answer.body is not None:
        return _http(answer.status, answer.body, answer.headers)
    if answer.broken == "no_json":
        return _http(answer.status, "<html>This is no JSON.</html>", answer.headers)
    if answer.broken == "no_object":
        return _http(answer.status, "[]", answer.headers)
    if answer.status != 200:
        result = _error(seen, answer.status, answer.error or "It did not work.", answer.error_type)
        return _http(answer.status, result, answer.headers)
    if seen.wire == "embeddings":
        return _http(200, model_openai.embeddings(seen), answer.headers)
    wire = model_anthropic if seen.wire == "anthropic" else model_openai
    output = [answer.text, answer.thoughts, *(json.dumps(call.arguments) for call in answer.calls)]
    given = (answer.input_tokens, answer.output_tokens)
    counted = (len(json.dumps(dict(seen.body))) // 4 + 1, len("".join(output)) // 4 + 1)
    read, written = (
        known if known is not None else guess for known, guess in zip(given, counted, strict=True)
    )
    made = wire.spell(seen, answer, read, written)
    if seen.body.get("stream"):
        return _http(200, wire.events(made), {"content-type": "text/event-stream"})
    return _http(200, made, answer.headers)


def _http(status: int, body: Any, headers: Mapping[str, str] | None = None) -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    data = text.encode()
    named = {**_JSON, "request-id": "req_double", **(headers or {})}
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in named.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


async def _flood(writer: asyncio.StreamWriter) -> bool:
    piece = b" " * 1_048_576
    writer.write(f"HTTP/1.1 200 -\r\nContent-Length: {HUGE}\r\n\r\n".encode())
    for _ in range(HUGE // len(piece)):
        writer.write(piece)
        await writer.drain()
    return False


@contextlib.asynccontextmanager
async def model_server(
    script: Script = (),
    *,
    port: int = 0,
    key: str | None = None,
    models: Sequence[str] | None = None,
    plain: bool = False,
    seconds: float = 0.0,
) -> AsyncIterator[ModelServer]:
    """Serves on a port of loopback, a free one unless it is named, until the block ends."""
    known = None if models is None else frozenset(models)
    double = ModelServer(key=key, models=known, plain=plain, seconds=seconds)
    double.play(script)
    server = await asyncio.start_server(double.serve, "127.0.0.1", port, limit=2**20)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield double
    finally:
        server.close()
        await double.stop()
        await server.wait_closed()
    for fault in double.faults:
        raise fault


async def _main(port: int, script: str) -> None:
    given = await asyncio.to_thread(Path(script).read_text) if script else '{"then": "echo"}'
    async with model_server(json.loads(given), port=port) as server:
        sys.stdout.write(f"listening on {server.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A provider of models on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", default="")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(options.port, options.script))
