"""The page of integrations, run without a browser: what it shows of each connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mainspring.gate.connected.schemas import LISTED
from tests.kit.page_scripts import DESK, worked_out

AN_ID = "01900000-0000-7000-8000-0000000000ff"
BACK = "https://here.example/api/v1/integrations/callback/google"
READER = {
    "id": AN_ID, "name": "Read it", "state": "active",
    "definition": {
        "triggers": [{"type": "schedule", "config": {"cron": "*/10 * * * *", "timezone": "UTC"}}]
    },
}  # fmt: skip
_AROUND = """
    const textOf = (one) => typeof one === "string" ? one : one.held.map(textOf).join(" ");
    const places = [
      "sign-out", "content", "list", "integrations", "one", "notice", "told", "again", "none",
    ];
    for (const id of places) page(id);
    const answers = { "/api/v1/session": { role: "owner", csrf_token: "c" }, ...MORE };
    globalThis.fetch = async (url) => ({
      ok: true, status: 200, json: async () => answers[url] ?? ROWS,
    });
    Object.defineProperty(globalThis, "location", { value: { pathname: PLACE, hash: "" } });
    await import("@/integrations.js");
    console.log(JSON.stringify(Object.fromEntries(
      ["integrations", "one", "again"].map((id) => [id, textOf(byId(id))]).concat(
        [["notice", byId("notice").textContent ?? ""]]),
    )));
"""


def _shown(
    tmp_path: Path, place: str, rows: list[dict[str, Any]], *, client: bool = True
) -> dict[str, str]:
    provider = {"provider": "google", "integrations": ["gmail"], "redirect_url": BACK,
                "has_client": client}  # fmt: skip
    more = {
        "/api/v1/oauth-clients": {"clients": [], "providers": [provider]},
        f"/api/v1/automations/{AN_ID}": READER,
    }
    body = _AROUND.replace("ROWS", json.dumps({"integrations": rows}))
    body = body.replace("PLACE", json.dumps(place)).replace("MORE", json.dumps(more))
    told: dict[str, str] = worked_out(DESK + body, tmp_path)
    return told


def test_a_refused_connection_is_named_and_a_form_asks_for_what_is_needed(tmp_path: Path) -> None:
    gmail, linear = (dict(one) for one in LISTED["examples"][0]["integrations"])
    error = {"code": "x", "detail": "The connection <b>Gmail</b> has to be connected again."}
    gmail |= {"state": "reconnect", "connected": False}
    gmail["connection"] = {**gmail["connection"], "health": "reconnect", "last_error": error}
    page = _shown(tmp_path, "/integrations", [gmail, linear])
    listed = page["integrations"]
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
    assert "Gmail (ada@example.com) has to be connected again." in page["again"]
    assert "gold tier" in listed


def test_what_goes_on_by_itself_is_switched_and_a_missing_client_is_explained(
    tmp_path: Path,
) -> None:
    gmail, linear = (dict(one) for one in LISTED["examples"][0]["integrations"])
    resting = _shown(tmp_path, "/integrations/gmail", [gmail])["one"]
    account = gmail["connection"]
    gmail["connection"] = {**account, "automation_id": AN_ID}
    read = _shown(tmp_path, "/integrations/gmail", [gmail])["one"]
    telegram = {**linear, "name": "telegram", "label": "Telegram", "state": "ready",
                "connection": {**account, "automation_id": AN_ID, "settings": {"link_hash": "h"}},
                }  # fmt: skip
    chat = _shown(tmp_path, "/integrations/telegram", [telegram])["one"]
    gmail |= {"state": "not_connected", "connected": False, "connection": None}
    without = _shown(tmp_path, "/integrations/gmail", [gmail], client=False)["one"]

    assert "Keep reading" in resting
    assert "Stop reading" not in resting
    for word in ("Read it", "Every 10 minutes, in UTC", "Stop reading"):
        assert word in read
    assert "Link your chat" in chat
    assert "keep reading first" not in chat
    assert "link_hash" not in chat
    assert BACK in without
    assert "Nobody can sign in yet" in without
    assert "Client secret" in without
    assert "Test the connection" not in without
