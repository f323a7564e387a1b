"""The world outside a started server, on loopback: a web server with moods, and a mail server."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

from tests.acceptance.commands import PATIENCE
from tests.kit.mail import MailServerDouble, mail_server

Made = TypeVar("Made")


class Web:
    """Answers /mood as it is asked to, /held when it is let go, and /slow never."""

    def __init__(self) -> None:
        self.mood = 200
        self._gates: dict[str, threading.Event] = defaultdict(threading.Event)
        self.asked: list[str] = []
        # Slow requests whose sender has gone.
        self.left: list[str] = []
        # What a path answers: its content type and its text.
        self.files: dict[str, tuple[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def url(self, path: str) -> str:
        return f"http://{self.pair}{path}"

    def let_go(self, path: str) -> None:
        """From now on requests for it, also pending ones, are answered."""
        self._gates[path].set()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked.append(self.path)
                if self.path.startswith("/slow"):
                    with contextlib.suppress(OSError):
                        self.connection.recv(1)
                    web.left.append(self.path)
                    self.close_connection = True
                    return
                if self.path.startswith("/held"):
                    web._gates[self.path].wait(PATIENCE)
                # Who asked may have gone while it was held.
                with contextlib.suppress(OSError):
                    self._answer(web.mood if self.path.startswith("/mood") else 200)

            def _answer(self, status: int) -> None:
                content_type, text = web.files.get(self.path, ("application/json", "{}"))
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                return

        return Handler

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            for gate in list(self._gates.values()):
                gate.set()
            self._server.shutdown()
            thread.join()
            self._server.server_close()


@contextlib.contextmanager
def web() -> Iterator[Web]:
    """A web server until the block ends."""
    made = Web()
    with made.open():
        yield made


@contextlib.contextmanager
def on_own_loop(serving: contextlib.AbstractAsyncContextManager[Made]) -> Iterator[Made]:
    """Something that serves until the block ends, on an event loop and a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def mailbox(post: MailServerDouble) -> Iterator[int]:
    """A mail server until the block ends; answers its port."""
    with on_own_loop(mail_server(post)) as port:
        yield port
