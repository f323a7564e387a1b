"""``mainspring boards link`` and its kin, and the same over REST, on one application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mainspring.app import application_services, build_registry
from mainspring.contracts.errors import Invalid, NotFound, UpstreamError
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory
from mainspring.surfaces.cli.board_links import (
    fill_dataset,
    link_board,
    list_links,
    read_pairs,
    refresh_board,
    unlink,
)
from mainspring.surfaces.cli.boards import show_board
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from tests.kit.api import served
from tests.kit.bench import Bench
from tests.kit.board_links import linked_bench
from tests.kit.boards import Boards
from tests.kit.doubles.feeds import web_double
from tests.kit.scripted_server import http_answer


def _desk(bench: Bench) -> CommandContext:
    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        del settings
        yield application_services(bench.application)

    return CommandContext(ApplicationFactory(enter, build_registry))


def test_a_reference_is_an_address_or_names_with_values() -> None:
    assert read_pairs(["https://example.com/?a=b"]) == {"url": "https://example.com/?a=b"}
    assert read_pairs(["owner=octo", "repo=hello"]) == {"owner": "octo", "repo": "hello"}
    assert read_pairs(["days=7", 'columns={"a": "b"}', "items=$.a"]) == {
        "days": 7,
        "columns": {"a": "b"},
        "items": "$.a",
    }
    with pytest.raises(Invalid, match="name=value"):
        read_pairs(["octo/hello"])


async def test_a_board_is_linked_filled_refreshed_and_let_go_by_commands(
    bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(bench.application.settings.home))
    async with web_double() as web, linked_bench(bench, web.pair) as here:
        context, screen, boards = _desk(here), Screen(for_programs=False), Boards(here.application)
        url = web.put_json("/rows", [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
        board_id = await boards.create("Work")
        with pytest.raises(NotFound) as nothing:
            await refresh_board(context, screen, "Work", None)
        assert "boards links Work" in str(nothing.value.suggestion)
        assert await link_board(context, screen, "Work", "http_json", [url], "Rows") == 0
        link_id = (await boards.call("list_board_links", board_id=board_id))["links"][0]["id"]
        assert f"boards fill {link_id} DATASET OPERATION" in capsys.readouterr().out
        await fill_dataset(context, screen, link_id, "rows", "http_json.get")
        assert "rows: 2 rows, 2 appended." in capsys.readouterr().out
        web.put_json("/rows", [{"id": 1, "v": "c"}])
        await refresh_board(context, screen, "Work", "rows")
        assert "rows: 1 row, 1 updated, 1 deleted." in capsys.readouterr().out
        web.script.append(http_answer(503, b""))
        with pytest.raises(UpstreamError):
            await refresh_board(context, screen, "Work", None)
        await list_links(context, screen, "Work")
        text = capsys.readouterr().out
        assert "http_json.get, manual, refreshed" in text
        assert "127.0.0.1 failed with status 503." in text
        await show_board(context, screen, "Work", "rows")
        assert "failed with status 503." in capsys.readouterr().out
        await unlink(context, screen, link_id, recipe=False)
        await list_links(context, screen, "Work")
        assert "linked to nothing" in capsys.readouterr().out


async def test_every_face_of_a_link_does_what_it_says(bench: Bench) -> None:
    async with (
        web_double() as web,
        linked_bench(bench, web.pair) as here,
        served(here.application) as api,
    ):

        async def ask(method: str, path: str, status: int = 200, **more: Any) -> Any:
            answer = await api.client.request(method, f"/api/v1{path}", **more)
            assert answer.status_code == status, answer.text
            return answer.json()

        ref = {"url": web.put_json("/rows", [{"id": 1}])}
        board = await ask("POST", "/boards", 201, json={"name": "Work"})
        links = f"/boards/{board['id']}/links"
        body: dict[str, Any] = {"kind": "http_json", "ref": ref, "display_name": "Rows"}
        link = await ask("POST", links, 201, json=body)
        wrong = await ask("POST", links, 422, json={**body, "ref": {"url": "ftp://example.com/a"}})
        assert [one["pointer"] for one in wrong["errors"]] == ["/ref/url"]
        recipes = f"/board-links/{link['id']}/recipes"
        asked = {"dataset_name": "rows", "adapter_op": "http_json.get", "refresh_cron": "@daily"}
        recipe = await ask("POST", recipes, 201, json=asked)
        result = await ask("POST", f"/dataset-recipes/{recipe['id']}/refresh", json={})
        assert result["appended"] == 1
        [shown] = (await ask("GET", links))["links"]
        assert shown["recipes"][0]["last_rows"] == 1
        query = {"kind": "http_json", "op": "http_json.get", "ref": ref}
        assert (await ask("POST", "/adapters/query", json=query))["rows"] == [{"id": 1}]
        assert (await ask("DELETE", f"/dataset-recipes/{recipe['id']}"))["deleted"] is True
        assert (await ask("DELETE", f"/board-links/{link['id']}"))["recipes"] == 0
        assert (await ask("GET", links))["links"] == []
