"""While a script uses secrets, none of them is in its process: not in memory, not on its way."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from mainspring.app import build_application
from tests.kit.bench import Bench
from tests.kit.loopback_doubles import local_server
from tests.kit.scripts import script

SECRET = "sk-live-7351-never-in-a-sandbox"
MARK = "a-mark-of-this-very-script"


async def careless(head: bytes, writer: asyncio.StreamWriter) -> None:
    """Says back what it was sent, in three spellings."""
    spelt = base64.b64encode(head).decode()
    body = json.dumps({"you_sent": head.decode(), "again": spelt, "hex": head.hex()}).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def children(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


def is_launcher(pid: int) -> bool:
    """Whether a process is a launcher, or a copy of one that has not become Deno yet."""
    return b"sandbox.launcher" in Path(f"/proc/{pid}/cmdline").read_bytes()


def programs() -> tuple[list[int], list[int]]:
    """The launchers of this process, and the processes of scripts under them."""
    launchers = [pid for pid in children(os.getpid()) if is_launcher(pid)]
    return launchers, [pid for launcher in launchers for pid in children(launcher)]


def memory(pid: int) -> Iterator[bytes]:
    """Everything that a process has written to, piece by piece."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as held:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(place, 16) for place in span.split("-"))
            if end - start > 1 << 30:
                continue
            held.seek(start)
            try:
                yield held.read(end - start)
            except OSError:
                continue


def spellings(text: str) -> list[bytes]:
    return [text.encode(), text.encode("utf-16-le"), base64.b64encode(text.encode())[:-4]]


def holds(pid: int, text: str) -> bool:
    return any(spelt in piece for piece in memory(pid) for spelt in spellings(text))


def told_about(pid: int, *entries: str) -> bytes:
    return b"\0".join(Path(f"/proc/{pid}/{entry}").read_bytes() for entry in entries)


def is_closed(pid: int) -> bool:
    """Whether the kernel refuses this user to read the memory and the environment of a process."""
    for entry in ("mem", "environ"):
        try:
            Path(f"/proc/{pid}/{entry}").open("rb").close()
        except PermissionError:
            continue
        return False
    return True


async def test_no_secret_is_in_the_process_of_a_script_that_uses_it(bench: Bench) -> None:
    async with local_server(careless) as server, AsyncExitStack() as opened:
        here = f"127.0.0.1:{server.port}"
        settings = replace(bench.application.settings, egress_allow=frozenset([here]))
        old = bench.application
        application = build_application(
            settings, old.limits, old.registry, old.database, old.script_runner
        )
        opened.push_async_callback(application.egress.aclose)
        opened.push_async_callback(application.wakeup_sender.aclose)
        await application.vault.set(bench.secret_scope, "api_key", SECRET)
        one = Bench(application, bench.outside)
        plan = script(
            f"""
            const mark = "{MARK}";
            const got = await brains.http_fetch({{ url: "http://{here}/",
                headers: {{ Authorization: "Bearer {{{{api_key}}}}" }} }});
            await brains["test.hang"]({{ mark }});
            return [got.status, JSON.stringify(got).includes("7351")];
            """
        )
        plan["plan"][0]["config"]["grants"] = [
            {"tool": "http_fetch", "params": {"hosts": [here]}},
            {"tool": "test.hang"},
        ]
        made = await one.dispatch(plan)
        async with one.worker():
            await asyncio.wait_for(bench.outside.started.wait(), 60)
            launchers, scripts = await asyncio.to_thread(programs)
            both = [*launchers, *scripts]
            running = [pid for pid in scripts if not is_launcher(pid)]
            closed = [pid for pid in both if is_closed(pid)]
            readable = [pid for pid in both if pid not in closed]
            result = b"".join(told_about(pid, "cmdline", "comm") for pid in both)
            result += b"".join(told_about(pid, "environ") for pid in readable)
            seen = await asyncio.to_thread(lambda: [pid for pid in running if holds(pid, MARK)])
            leaks = await asyncio.to_thread(lambda: [pid for pid in readable if holds(pid, SECRET)])
            bench.outside.release.set()
            run = await one.until(made.run_id)

    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == [200, False]
    # Only root can read a launcher: it has made itself unreadable.
    assert set(launchers) <= set(closed) if os.geteuid() else closed == []
    assert not set(running).intersection(closed), "what belongs to a script was all looked at"
    assert len(seen) == 1, "the memory of the script was really looked through"
    assert leaks == []
    assert SECRET.encode() not in result
    assert MARK.encode() not in result, "not even the source is in a command line"
