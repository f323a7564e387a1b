"""Each isolation layer alone: Deno is given every permission, and the layer still refuses.

Which layers are available depends on the machine; a layer that it lacks cannot be put
up here, and the test says so by failing.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.actions.script.sandbox.isolation import IsolationMode
from mainspring.actions.script.sandbox.pool import FLAGS, SandboxPool, probe_isolation
from tests.integration.actions.script.sandbox.script_session import body, run
from tests.kit.postgres import open_folder

EVERYTHING = ("--allow-all", "--no-prompt", "--no-config", "--no-lock", "--no-code-cache")
WALLED = (IsolationMode.AUTO, IsolationMode.LANDLOCK, IsolationMode.NAMESPACES)

# Each tries something and tells what came of it.
ATTEMPTS = """
  const D = Deno;
  const tried = {};
  const attempt = async (name, what) => {
    try { tried[name] = String(await what()).slice(0, 60); } catch (error) { tried[name] = null; }
  };
  const fs = await import("node:fs");
  const net = await import("node:net");
  const dgram = await import("node:dgram");
  const child = await import("node:child_process");
  const dialled = (options) => new Promise((done, refuse) => {
    const line = net.connect(options, () => done("connected"));
    line.on("error", refuse);
  });
  await attempt("secret", () => fs.readFileSync(input.secret, "utf8"));
  await attempt("listing", () => fs.readdirSync(input.folder));
  await attempt("passwd", () => fs.readFileSync("/etc/passwd", "utf8"));
  await attempt("environ", () => fs.readFileSync(`/proc/${input.pid}/environ`, "utf8"));
  await attempt("own environ", () => fs.readFileSync("/proc/self/environ", "utf8"));
  await attempt("import", async () =>
    (await import(`file://${input.secret}`, { with: { type: "text" } })).default);
  // Where nothing else refuses it, the limit on files ends the process.
  if (input.walled) await attempt("write", () => fs.writeFileSync(`${input.folder}/left`, "x"));
  await attempt("write cache", () => fs.writeFileSync(`${input.cache}/left`, "x"));
  await attempt("tcp", () => dialled({ host: "127.0.0.1", port: input.port }));
  await attempt("unix", () => dialled({ path: `${input.folder}/socket` }));
  // Deno's own refusal comes where nobody can catch it.
  if (!input.denied) await attempt("udp", () => new Promise((done, refuse) => {
    const made = dgram.createSocket("udp4");
    made.on("error", refuse);
    made.send("x", input.port, "127.0.0.1", (error) => error ? refuse(error) : done("sent"));
  }));
  await attempt("dns", () => D.resolveDns?.("localhost", "A"));
  await attempt("run", () => child.execFileSync("/bin/sh", ["-c", "echo ran"]).toString());
  await attempt("signal", () => { process.kill(input.pid, "SIGCONT"); return "sent"; });
  return tried;
"""


@pytest.fixture
def outside() -> Iterator[dict[str, object]]:
    """A secret, a TCP port and a Unix socket that anybody on this machine may use."""
    with (
        open_folder() as folder,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        folder.chmod(0o777)
        secret = folder / "secret.txt"
        secret.write_text("planted", encoding="utf-8")
        secret.chmod(0o644)
        unix.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        unix.listen()
        yield {
            "secret": str(secret),
            "folder": str(folder),
            "port": tcp.getsockname()[1],
            "pid": os.getpid(),
        }


@pytest.mark.parametrize("mode", WALLED)
async def test_an_isolation_layer_holds_without_any_help_of_deno(
    mode: IsolationMode, outside: dict[str, object]
) -> None:
    async with SandboxPool(warm=0, wanted=mode, flags=EVERYTHING) as sandboxes:
        given = {**outside, "cache": f"{sandboxes.folder}/cache", "walled": True}
        result = await run(sandboxes, body(ATTEMPTS), input=given)

    assert {name: got for name, got in result.done.items() if got is not None} == {}
    assert len(result.done) == 14
    assert not (Path(str(outside["folder"])) / "left").exists()


@pytest.mark.parametrize("mode", list(IsolationMode))
async def test_deno_refuses_by_itself_behind_any_isolation_layer(
    mode: IsolationMode, outside: dict[str, object]
) -> None:
    async with SandboxPool(warm=0, wanted=mode, flags=FLAGS) as sandboxes:
        given = {**outside, "cache": f"{sandboxes.folder}/cache", "walled": True, "denied": True}
        result = await run(sandboxes, body(ATTEMPTS), input=given)

    assert {name: got for name, got in result.done.items() if got is not None} == {}


async def test_the_attempts_would_succeed_without_isolation(outside: dict[str, object]) -> None:
    """A battery that fails everywhere proves nothing."""
    async with SandboxPool(warm=0, wanted=IsolationMode.NONE, flags=EVERYTHING) as sandboxes:
        result = await run(sandboxes, body(ATTEMPTS), input={**outside, "cache": "/nowhere"})

    reached = {name for name, got in result.done.items() if got is not None}
    assert {"secret", "listing", "passwd", "import", "tcp", "unix", "udp"} <= reached


async def test_the_isolation_layers_are_reported_as_they_are() -> None:
    found = await probe_isolation()
    none = await probe_isolation(IsolationMode.NONE)

    assert found.strong
    assert found.warnings() == ()
    assert not none.strong
    assert any("files of this machine" in sentence for sentence in none.sentences())


def held_by(pid: int) -> tuple[set[bytes], set[str]]:
    """The names in the environment of a process, and what it has open."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    opened = [path.readlink() for path in Path(f"/proc/{pid}/fd").iterdir()]
    return {entry.partition(b"=")[0] for entry in entries if entry}, set(map(str, opened))


async def test_the_environment_of_the_process_holds_nothing_of_ours() -> None:
    async with SandboxPool(warm=1) as sandboxes:
        await sandboxes.settled()
        (pid,) = sandboxes.idle_pids()
        names, opened = held_by(pid)

    assert names == {
        b"NO_COLOR",
        b"DENO_NO_UPDATE_CHECK",
        b"DENO_NO_PACKAGE_JSON",
        b"TZ",
        b"LANG",
        b"DENO_DIR",
        b"HOME",
    }
    assert [name for name in opened if name.startswith("/") and not name.startswith("/dev/")] == []
