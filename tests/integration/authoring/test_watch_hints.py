"""watch_integration says what is missing where nothing would be read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.bench import Bench
from tests.kit.board_links import linked_bench
from tests.kit.boards import Boards

CONNECTED = """
    INSERT INTO integration_connections
        (workspace_id, id, owner_id, integration, label, auth, settings, state)
    VALUES ($1, gen_random_uuid(), $2, $3, $3, $4, $5, 'ready')
"""


async def _watched(bench: Bench, source: str, settings: dict[str, Any]) -> Any:
    async with linked_bench(bench) as here:
        member = Boards(here.application)
        auth = "token" if source == "discord" else "oauth"
        await here.application.database.execute(
            CONNECTED, here.application.workspace_id, member.caller.actor.id, source, auth, settings
        )
        return await member.call("watch_integration", source=source)


@pytest.mark.parametrize(
    ("source", "field", "label"),
    [
        ("github", "repositories", "Repositories to watch"),
        ("slack", "channels", "Channels to follow"),
        ("discord", "channels", "Channels to follow"),
    ],
)
@pytest.mark.parametrize("text", [None, "", " "])
async def test_an_empty_setting_is_named_with_what_to_do(
    bench: Bench, source: str, field: str, label: str, text: str | None
) -> None:
    made = await _watched(bench, source, {} if text is None else {field: text})

    assert made["state"] == "active"
    assert made["hint"].startswith(f"Nothing is read yet: {label!r} is empty")
    assert "connect_integration" in made["hint"]
    assert repr(field) in made["hint"]


@pytest.mark.parametrize(
    ("source", "settings"),
    [("github", {"repositories": "octo/hello"}), ("slack", {"channels": "#all"}), ("gmail", {})],
)
async def test_nothing_is_hinted_where_nothing_is_missing(
    bench: Bench, source: str, settings: dict[str, Any]
) -> None:
    assert "hint" not in await _watched(bench, source, settings)
