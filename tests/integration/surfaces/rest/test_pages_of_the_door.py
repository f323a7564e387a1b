"""The pages before the door: files that hold nothing of anybody and run no foreign script."""

from __future__ import annotations

import re

from tests.kit.api import Api

SCRIPTS = ("/assets/page.js", "/assets/home.js", "/assets/sign-in.js")
PAGES = ("/", "/sign-in", *SCRIPTS, "/assets/page.css")


async def test_the_pages_run_no_script_but_their_own_and_ask_nobody_else(api: Api) -> None:
    for path in PAGES:
        answer = await api.stranger.get(path)
        assert answer.status_code == 200
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "set-cookie" not in answer.headers
        if path in ("/", "/sign-in"):
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|style=|<style", answer.text)
            assert set(re.findall(r'(?:src|href)="([^"]+)"', answer.text)) <= {
                *SCRIPTS, "/assets/page.css", "data:,", "/", "/new", "/automations", "/inbox",
                "/integrations", "/codex",
            }  # fmt: skip
            for field in re.findall(r"<(?:input|select) [^>]*id=\"([^\"]+)\"", answer.text):
                assert f'<label for="{field}"' in answer.text


async def test_beside_the_pages_every_path_is_behind_the_door(api: Api) -> None:
    for path in (
        "/sign-in/", "/SIGN-IN", "/sign-in.html", "/home.html", "/assets", "/assets/",
        "/assets/files.py", "/assets/../files.py", "/assets/%2e%2e/files.py", "/index.html",
        "/favicon.ico", "/robots.txt",
    ):  # fmt: skip
        answer = await api.stranger.request("GET", "/", extensions={"target": path.encode()})
        assert answer.status_code == 401, path
    for path in PAGES:
        assert (await api.stranger.post(path)).status_code == 401
