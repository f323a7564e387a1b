"""The page before the gate: one document that holds nothing of anybody, and its own files."""

from __future__ import annotations

import re
from pathlib import Path

from mainspring.surfaces.rest.web_pages import document
from mainspring.surfaces.web.files import BUILT, SCREENS, read_page
from tests.kit.api import Api

ROUTES = Path(__file__).resolve().parents[4] / "web" / "src" / "routes.tsx"
VISIT = {"Accept": "text/html,application/xhtml+xml"}
NOTHING = (
    "/automations/",
    "/Automations",
    "/inbox/",
    "/index.html",
    "/favicon.ico",
    "/robots.txt",
    "/boards/one/two",
    "/sign-in/",
    "/SIGN-IN",
    "/built/index.html",
    "/assets",
    "/assets/",
)


async def test_the_document_runs_files_of_this_server_and_nothing_else(api: Api) -> None:
    first, second = await api.anonymous.get("/"), await api.client.get("/automations?state=active")
    nonces = []
    for answer in (first, second):
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "set-cookie" not in answer.headers
        assert answer.headers["Cache-Control"] == "no-cache"
        nonces += re.findall(r"'nonce-([^']+)'", policy)
        assert f'content="{nonces[-1]}"' in answer.text
        assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|style=|<style", answer.text)
    assert len(set(nonces)) == 2
    assert first.text.replace(nonces[0], "") == second.text.replace(nonces[1], "")
    for path in re.findall(r'(?:src|href)="([^"]+)"', first.text):
        assert path.startswith("/assets/") or path == "/manifest.webmanifest"
        assert (await api.anonymous.get(path)).status_code == 200


async def test_the_page_can_be_installed_on_a_phone(api: Api) -> None:
    found = await api.anonymous.get("/manifest.webmanifest")
    assert found.headers["Content-Type"] == "application/manifest+json"
    assert found.headers["Cache-Control"] == "no-cache"
    manifest = found.json()
    assert (manifest["start_url"], manifest["scope"], manifest["display"]) == (
        "/",
        "/",
        "standalone",
    )
    sizes = {(one["sizes"], one.get("purpose", "any")) for one in manifest["icons"]}
    assert sizes >= {("192x192", "any"), ("512x512", "any"), ("512x512", "maskable")}
    for one in manifest["icons"]:
        icon = await api.anonymous.get(one["src"])
        assert icon.headers["Content-Type"] == "image/png"
        # An icon of another version may be served under its name.
        assert icon.headers["Cache-Control"] == "no-cache"
        # The size of a PNG is in its first chunk.
        width, height = (int.from_bytes(icon.content[at : at + 4], "big") for at in (16, 20))
        assert one["sizes"] == f"{width}x{height}"
    assert manifest["shortcuts"][0]["url"] in SCREENS


async def test_the_service_worker_works_for_the_whole_page_and_asks_for_nothing(api: Api) -> None:
    found = await api.anonymous.get("/service-worker.js")
    assert found.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert found.headers["Cache-Control"] == "no-cache"
    policy = found.headers["Content-Security-Policy"]
    assert policy == "default-src 'none'; img-src 'self'; frame-ancestors 'none'"
    assert '"fetch"' not in found.text
    assert "caches" not in found.text
    document = (await api.anonymous.get("/")).headers["Content-Security-Policy"]
    assert "manifest-src 'self'" in document
    assert "worker-src 'self'" in document


async def test_a_file_may_be_cached_and_is_compressed_for_clients_that_accept_it(api: Api) -> None:
    [script] = re.findall(r'<script[^>]* src="([^"]+)"', (await api.anonymous.get("/")).text)
    squeezed = await api.anonymous.get(script, headers={"Accept-Encoding": "gzip"})
    plain = await api.anonymous.get(script, headers={"Accept-Encoding": "identity"})
    assert squeezed.content == plain.content
    assert squeezed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert plain.headers["Content-Type"] == "text/javascript; charset=utf-8"
    for answer in (squeezed, plain):
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Vary"] == "Accept-Encoding"
    mark = await api.anonymous.get("/assets/mark.svg")
    assert (mark.status_code, mark.headers["Cache-Control"]) == (200, "no-cache")
    for name in ("files.py", "..%2ffiles.py", "made-from", f"{Path(script).name}.gz", "%2e%2e"):
        gone = await api.anonymous.get(f"/assets/{name}")
        assert gone.status_code in (401, 404), name


async def test_outside_the_page_programs_get_401_and_people_a_page_that_says_so(
    api: Api,
) -> None:
    for path in NOTHING:
        asked = {"target": path.encode()}
        program = await api.anonymous.request("GET", "/", extensions=asked)
        assert program.status_code == 401, path
        assert program.headers["Content-Type"] == "application/problem+json"
        if path.startswith("/assets"):
            continue
        for client in (api.anonymous, api.client):
            person = await client.request("GET", "/", extensions=asked, headers=VISIT)
            assert person.status_code == 404, path
            assert '<div id="root">' in person.text
            assert "'nonce-" in person.headers["Content-Security-Policy"]
    for path in ("/api/v1/automations", "/api/v1/nothing", "/mcp", "/oauth/nothing"):
        answer = await api.anonymous.get(path, headers=VISIT)
        assert answer.status_code == 401, path
        assert "<html" not in answer.text
    for path in ("/", "/inbox", "/assets/mark.svg"):
        assert (await api.anonymous.post(path)).status_code == 401


def test_every_screen_has_an_address_on_the_server() -> None:
    screens = re.findall(r'(?:screen|outer)\("([^"]+)"', ROUTES.read_text(encoding="utf-8"))
    assert len(screens) > 20
    # The names of values are each side's own; how many there are, and where, is not.
    served = {re.sub(r"\{\w+\}", "*", path) for path in SCREENS}
    for path in screens:
        assert re.sub(r"\$\w*", "*", path) in served | {"/automations/*/edit"}, path


async def test_without_a_page_the_server_says_how_it_is_built(tmp_path: Path) -> None:
    page = read_page(tmp_path)
    answer = document(page)
    assert (page.built, answer.status_code) == (False, 503)
    assert b"scripts/build_page.py" in answer.body
    assert read_page(BUILT).built
