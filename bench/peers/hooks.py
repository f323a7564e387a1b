"""Peers whose runs begin with a webhook: n8n and Node-RED, driven by our own load client."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from bench import load
from bench.peers import installs
from bench.peers.contender import (
    CONNECTIONS,
    STEPS,
    WARM_CALLS,
    WEBHOOK,
    Contender,
    Figure,
    Measure,
)
from bench.peers.installs import Unavailable, one_line
from bench.peers.processes import START_SECONDS, Started, cpu_seconds, free_port, started
from bench.server import folder
from mainspring.store.embedded import EmbeddedServer

N8N, NODE_RED = "n8n@2.41.1", "node-red@5.0.7"
# The newest release of one of its parts asks for a package that is not there.
_N8N_OVERRIDES: Final = {"linkedom": "0.18.14"}
_N8N_NATIVE: Final = ("sqlite3",)
# As shipped it has two connections and asks every few seconds whether the database is there; on a
# busy machine calls were refused for a while. More of both cannot hurt it.
_N8N_POOL: Final = "10"
_N8N_LOOK_MS: Final = "30000"
_IMPORT_SECONDS: Final = 120.0


def _driven(port: int, roots: list[int], path: str) -> Measure:
    """The answer comes at the end of the run, so the last answer is the last end."""

    def call(steps: int, runs: int) -> dict[str, Any]:
        sent = load.run(load.Load("127.0.0.1", port, path.format(steps), "none", runs, CONNECTIONS))
        if sent["statuses"] != {"200": runs}:
            raise Unavailable(f"answered {sent['statuses']} to {runs} calls")
        return sent

    def warm(steps: int) -> None:
        """Again and again until all are answered well: one that has just begun may refuse some."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                call(steps, WARM_CALLS)
                return
            except (Unavailable, subprocess.SubprocessError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(1)

    def measure(steps: int, runs: int) -> Figure:
        warm(steps)
        spent = cpu_seconds(roots)
        seconds: float = call(steps, runs)["seconds"]
        return Figure(runs, seconds, cpu_seconds(roots) - spent)

    return measure


def _until(ready: Callable[[], bool], process: Started) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        process.check()
        with contextlib.suppress(OSError, ValueError):
            if ready():
                return
        time.sleep(0.2)
    raise Unavailable(f"not ready within {START_SECONDS:.0f} s: {one_line(process.output())}")


def _answers(port: int, path: str) -> bool:
    """Whether all webhooks are there, and their steps did their work."""
    return all(
        _answer(port, path.format(steps)) == {"n": steps + 1, "said": "hello"} for steps in STEPS
    )


def _answer(port: int, path: str) -> Any:
    """What a webhook says; a server that listens may not have it yet."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        method="POST",
        data=load.BODY,
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


@contextmanager
def _node_red() -> Iterator[Measure]:
    place = installs.packages_of("node-red", NODE_RED)
    with folder() as made:
        port = free_port()
        (made / "flows.json").write_text(json.dumps(_flows()))
        program = place / "node_modules" / "node-red" / "red.js"
        given = {**installs.node_environment(), "NODE_ENV": "production"}
        words: list[str | Path] = [
            installs.node(),
            program,
            "--userDir",
            made,
            "--port",
            str(port),
            "-D",
            "uiHost=127.0.0.1",
            "-D",
            "httpAdminRoot=false",
            "flows.json",
        ]
        with started(words, made, given, spoken=False) as process:
            _until(lambda: _answers(port, "/work-{}"), process)
            yield _driven(port, [process.pid], "/work-{}")


def _flows() -> list[dict[str, Any]]:
    """For each size: a request, its steps as functions, its answer."""
    nodes: list[dict[str, Any]] = [{"id": "tab", "type": "tab", "label": "bench"}]
    for steps in STEPS:
        names = [f"in{steps}", *(f"s{steps}_{one}" for one in range(steps)), f"out{steps}"]
        for number, name in enumerate(names):
            # A node without a place on the sheet is taken for settings.
            node: dict[str, Any] = {"id": name, "z": "tab", "x": 100 * number, "y": 100 * steps}
            node["wires"] = [names[number + 1 :][:1]]
            if number == 0:
                node |= {"type": "http in", "url": f"/work-{steps}", "method": "post"}
            elif number == len(names) - 1:
                node |= {"type": "http response", "wires": []}
            else:
                change = "msg.payload = {n: msg.payload.n + 1, said: msg.payload.say ?? "
                node |= {"type": "function", "outputs": 1, "name": name}
                node["func"] = f"{change}msg.payload.said}};\nreturn msg;"
            nodes.append(node)
    return nodes


def _workflow(steps: int) -> dict[str, Any]:
    """A webhook that answers when the last node is done, and Edit Fields nodes behind it."""
    hook = {
        "id": f"hook{steps}",
        "name": "Webhook",
        "type": "n8n-nodes-base.webhook",
        "typeVersion": 2,
        "position": [0, 0],
        "webhookId": f"bench-{steps}",
        "parameters": {
            "httpMethod": "POST",
            "path": f"work-{steps}",
            "responseMode": "lastNode",
            "options": {},
        },
    }
    nodes, connections = [hook], {}
    before = "Webhook"
    for number in range(steps):
        name = f"Step {number}"
        source = "$json.body" if number == 0 else "$json"
        word = "say" if number == 0 else "said"
        value = f"={{{{ {{n: {source}.n + 1, said: {source}.{word}}} }}}}"
        nodes.append(
            {
                "id": f"step{steps}{number}",
                "name": name,
                "type": "n8n-nodes-base.set",
                "typeVersion": 3.4,
                "position": [200 * (number + 1), 0],
                "parameters": {"mode": "raw", "jsonOutput": value, "options": {}},
            }
        )
        connections[before] = {"main": [[{"node": name, "type": "main", "index": 0}]]}
        before = name
    return {
        "id": f"benchwork{steps}",
        "name": f"work {steps}",
        "nodes": nodes,
        "active": False,
        "connections": connections,
        "settings": {"executionOrder": "v1"},
        "versionId": f"v{steps}",
    }


def _n8n_settings(home: Path, port: int) -> dict[str, str]:
    return {
        **installs.node_environment(),
        "N8N_USER_FOLDER": str(home),
        "N8N_PORT": str(port),
        "N8N_LISTEN_ADDRESS": "127.0.0.1",
        "N8N_DIAGNOSTICS_ENABLED": "false",
        "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
        "N8N_TEMPLATES_ENABLED": "false",
        "N8N_LOG_LEVEL": "error",
        "N8N_RUNNERS_BROKER_PORT": str(free_port()),
        "NODE_ENV": "production",
    }


@contextmanager
def _n8n(database: str) -> Iterator[Measure]:
    place = installs.packages_of("n8n", N8N, build=_N8N_NATIVE, overrides=_N8N_OVERRIDES)
    program = place / "node_modules" / "n8n" / "bin" / "n8n"
    with folder() as made, contextlib.ExitStack() as stack:
        port, roots = free_port(), []
        given = _n8n_settings(made, port)
        if database == "Postgres":
            server = EmbeddedServer(made / "home")
            server.start()
            stack.callback(server.stop)
            assert server.pid is not None
            roots.append(server.pid)
            given |= _postgres(server.dsn)
        _prepare(program, made, given)
        words: list[str | Path] = [installs.node(), program, "start"]
        process = stack.enter_context(started(words, made, given, spoken=False))
        _until(lambda: _answers(port, "/webhook/work-{}"), process)
        yield _driven(port, [process.pid, *roots], "/webhook/work-{}")


def _postgres(dsn: str) -> dict[str, str]:
    """The same database in n8n's own words: a folder that begins with / is a socket's."""
    split = urlsplit(dsn)
    return {
        "DB_TYPE": "postgresdb",
        "DB_POSTGRESDB_HOST": parse_qs(split.query)["host"][0],
        "DB_POSTGRESDB_PORT": "5432",
        "DB_POSTGRESDB_USER": split.username or "",
        "DB_POSTGRESDB_DATABASE": split.path.lstrip("/"),
        "DB_POSTGRESDB_PASSWORD": "",
        "DB_POSTGRESDB_POOL_SIZE": _N8N_POOL,
        "DB_PING_TIMEOUT_MS": _N8N_LOOK_MS,
    }


def _prepare(program: Path, made: Path, given: dict[str, str]) -> None:
    """Imports the workflows and publishes them, with its own commands."""
    expected = made / "workflows.json"
    expected.write_text(json.dumps([_workflow(steps) for steps in STEPS]))
    orders = [["import:workflow", f"--input={expected}"]]
    orders += [["publish:workflow", f"--id=benchwork{steps}"] for steps in STEPS]
    for order in orders:
        try:
            done = subprocess.run(
                [installs.node(), program, *order],
                env=given,
                cwd=made,
                capture_output=True,
                text=True,
                check=False,
                timeout=_IMPORT_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"{order[0]} took more than {_IMPORT_SECONDS:.0f} s") from error
        if done.returncode != 0:
            raise Unavailable(f"{order[0]}: {one_line(done.stderr + done.stdout)}")


def contenders() -> list[Contender]:
    """Everyone whose runs come in by HTTP."""
    stored = "execution with all data of each node"
    return [
        Contender(
            "n8n", WEBHOOK, "after the run", stored, {1: 500, 5: 400}, partial(_n8n, "SQLite"), N8N
        ),
        Contender(
            "n8n, Postgres",
            WEBHOOK,
            "after the run",
            stored,
            {1: 500, 5: 400},
            partial(_n8n, "Postgres"),
            N8N,
        ),
        Contender("Node-RED", WEBHOOK, "no", "nothing", {1: 3_000, 5: 3_000}, _node_red, NODE_RED),
    ]
