"""The pages of the codex, run without a browser: what they show of recipes and installs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mainspring.recipes.schemas import LIST_ANSWERS, NEEDS_ANSWERS
from mainspring.recipes.schemas_installs import CHECK_ANSWERS, GONE_ANSWERS, INSTALLS_ANSWERS
from tests.kit.page_scripts import DESK, worked_out

SCRIPT = "<script>alert(1)</script>"
ENTRY = LIST_ANSWERS["examples"][0]["recipes"][0]
RECIPE = {
    **ENTRY,
    "name": SCRIPT,
    "description": "A board of what is up.",
    "publisher": "Somebody",
    "template": {"name": "Uptime"},
    "grants": [{"capability": "http_fetch", "params": {"hosts": ["{{ install.settings.host }}"]}}],
    "hosts": ["{{ install.board.id }}"],
    "may": ["It may call http_fetch to <host>.", "It starts once a day."],
    "preview": f"> **Down**: {SCRIPT}\n> - *now*\n\n| A | B |\n| --- | --- |\n| `1` | 2 |",
    "requires": {"secrets": [{"name": "a_key", "reason": "To get in."}]},
    "settings": [{"name": "host", "label": "The host", "type": "string", "required": True}],
}
NEEDS = {
    **NEEDS_ANSWERS["examples"][0],
    "declared": [{"slug": "uptime-board", "min_version": "1.0.0", "reason": "Rows."}],
    "missing": [
        {
            "slug": "uptime-board", "min_version": "1.0.0",
            "available": {"has_recipe": True, "latest_version": "1.0.0"},
        }
    ],
}  # fmt: skip
_AROUND = """
    const textOf = (one) => typeof one === "string" ? one : one.held.map(textOf).join(" ");
    const places = [
      "sign-out", "content", "shelf", "search", "words", "kind", "category", "recipes",
      "no-recipes", "installs", "installed-part", "uninstalled", "uninstalled-part", "one",
      "notice", "told",
    ];
    for (const id of places) page(id);
    byId("words").value = ""; byId("kind").value = ""; byId("category").value = "";
    const answers = { "/api/v1/session": { role: ROLE, csrf_token: "c" }, ...MORE };
    globalThis.fetch = async (url) => ({
      ok: url in answers, status: url in answers ? 200 : 404, json: async () => answers[url] ?? {
        detail: `There is nothing at ${url}.` },
    });
    Object.defineProperty(globalThis, "location", { value: { pathname: PLACE, hash: "" } });
    await import("@/codex.js");
    console.log(JSON.stringify(Object.fromEntries(
      ["recipes", "installs", "uninstalled", "one"].map((id) => [id, textOf(byId(id))]).concat(
        [["notice", byId("notice").textContent ?? ""]]),
    )));
"""


def _shown(tmp_path: Path, place: str, *, role: str = "owner") -> dict[str, str]:
    more: dict[str, Any] = {
        "/api/v1/recipes?limit=100": {"recipes": [{**ENTRY, "name": SCRIPT}]},
        "/api/v1/installs": INSTALLS_ANSWERS["examples"][0],
        "/api/v1/uninstalled": GONE_ANSWERS["examples"][0],
        "/api/v1/recipes/uptime-board": {"recipe": RECIPE},
        "/api/v1/recipes/uptime-board/dependencies": NEEDS,
        "/api/v1/installs/upgrade": CHECK_ANSWERS["examples"][0],
    }
    body = _AROUND.replace("MORE", json.dumps(more)).replace("PLACE", json.dumps(place))
    told: dict[str, str] = worked_out(DESK + body.replace("ROLE", json.dumps(role)), tmp_path)
    return told


def test_recipes_installs_and_what_was_taken_away_are_listed(tmp_path: Path) -> None:
    page = _shown(tmp_path, "/codex")
    assert page["notice"] == ""
    assert SCRIPT in page["recipes"]
    assert "installed" in page["recipes"]
    for words in ("Uptime", "1.0.0", "update available: 1.1.0", "See the upgrade", "Uninstall"):
        assert words in page["installs"], words
    assert "Recover" in page["uninstalled"]
    watched = _shown(tmp_path, "/codex", role="viewer")
    assert "Uninstall" not in watched["installs"]
    assert "Recover" not in watched["uninstalled"].split("can be")[-1]


def test_a_recipe_shows_what_it_may_do_before_it_is_installed(tmp_path: Path) -> None:
    one = _shown(tmp_path, "/codex/uptime-board")["one"]
    for words in (
        SCRIPT, "It may call http_fetch to <host>.", "It starts once a day.", "a_key", "<board id>",
        "To get in.", "uptime-board", "installed with it",
        "The host", "Install",
    ):  # fmt: skip
        assert words in one, words
    # The marks of a preview are not shown, and nothing in it is more than text.
    assert not any(mark in one for mark in ("**", "*now*", "---", "`1`"))
    assert "does not install" in _shown(tmp_path, "/codex/uptime-board", role="viewer")["one"]
    assert "nothing at" in _shown(tmp_path, "/codex/no-such")["notice"]
