"""``python -m scripts.trace_paths``: what a request passes, and nothing that runs next to it."""

from __future__ import annotations

import asyncio

from scripts.trace_paths import PATHS, Tracer, show_path, show_table, trace_paths
from tests.kit.bench import Bench


async def test_a_webhook_is_traced_from_the_socket_to_its_row(bench: Bench) -> None:
    (traced,) = await trace_paths(bench, ["webhook"])
    modules = list(traced.modules)
    assert modules[0] == "surfaces/rest/http_protocol.py"
    assert modules.index("surfaces/rest/routes/webhooks.py") < modules.index("runs/dispatch.py")
    # The writer is a task that many requests share.
    assert "GroupWriter._loop" in traced.modules["store/group_commit.py"]
    # A cache was filled by the calls before, and no worker has begun the run.
    assert "find_by_token" not in traced.modules["workspace/webhooks.py"]
    assert not {"runs/worker.py", "runs/execute.py"} & traced.modules.keys()
    assert traced.target == PATHS["webhook"].target
    shown = show_path(traced).splitlines()
    assert shown[0].endswith(f"{len(modules)} files, {traced.functions} functions")
    assert shown[1].split() == ["1", modules[0]]
    assert show_table([traced]).splitlines()[1].split()[-3:] == [
        str(len(modules)),
        str(traced.target),
        str(traced.functions),
    ]


async def test_nothing_is_traced_outside_of_the_server(bench: Bench) -> None:
    tracer = Tracer()

    async def call() -> None:
        await asyncio.create_task(bench.application.registry.of(bench.application.workspace_id))

    with tracer.installed():
        assert await tracer.trace(call) == {}
