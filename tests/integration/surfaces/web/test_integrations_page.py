"""The page of integrations, run without a browser: how it shows a refused connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mainspring.gate.connected.schemas import LISTED
from tests.kit.page_scripts import DESK, worked_out

_AROUND = """
    const textOf = (one) => typeof one === "string" ? one : one.held.map(textOf).join(" ");
    const places = ["sign-out", "content", "list", "integrations", "one", "notice", "told"];
    for (const id of places) page(id);
    const answers = { "/api/v1/session": { role: "owner", csrf_token: "c" } };
    globalThis.fetch = async (url) => ({
      ok: true, status: 200, json: async () => answers[url] ?? ROWS,
    });
    Object.defineProperty(globalThis, "location", { value: { pathname: PLACE, hash: "" } });
    await import("@/integrations.js");
    console.log(JSON.stringify(Object.fromEntries(
      ["integrations", "one"].map((id) => [id, textOf(byId(id))]).concat(
        [["notice", byId("notice").textContent ?? ""]]),
    )));
"""


def _shown(tmp_path: Path, place: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    body = _AROUND.replace("ROWS", json.dumps({"integrations": rows})).replace(
        "PLACE", json.dumps(place)
    )
    told: dict[str, str] = worked_out(DESK + body, tmp_path)
    return told


def test_a_refused_connection_is_named_and_a_form_asks_for_what_is_needed(tmp_path: Path) -> None:
    gmail, linear = (dict(one) for one in LISTED["examples"][0]["integrations"])
    error = {"code": "x", "detail": "The connection <b>Gmail</b> has to be connected again."}
    gmail |= {"state": "reconnect", "connected": False}
    gmail["connection"] = {**gmail["connection"], "health": "reconnect", "last_error": error}
    listed = _shown(tmp_path, "/integrations", [gmail, linear])["integrations"]
    refused = _shown(tmp_path, "/integrations/gmail", [gmail, linear])["one"]
    asked = _shown(tmp_path, "/integrations/linear", [gmail, linear])["one"]
    unknown = _shown(tmp_path, "/integrations/no_such", [gmail, linear])["notice"]

    for word in ("Gmail", "connect it again", "ada@example.com", "Linear", "not connected"):
        assert word in listed
    assert error["detail"] in refused
    assert refused.count("has to be connected again") == 1
    for word in ("Test the connection", "Disconnect", "Connect again", "https://mail.google.com/"):
        assert word in refused
    assert "API key" in asked
    assert "Test the connection" not in asked
    assert "no such integration" in unknown
