"""The documentation site at /docs: public files under a policy without inline code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mainspring import __version__
from mainspring.surfaces.web.docs_site import BUILT_DOCS, DocsSite
from mainspring.surfaces.web.files import SCREENS
from scripts.build_page import ROOT, build_docs
from tests.kit.api import Api


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    build_docs(ROOT, BUILT_DOCS)


async def test_the_site_shows_its_version_and_runs_files_of_this_server_only(api: Api) -> None:
    for path in ("/docs/", "/docs/guides/webhooks/", "/docs/no/such/page"):
        answer = await api.anonymous.get(path, headers={"Accept": "text/html"})

        assert answer.status_code == (404 if "no/such" in path else 200)
        assert f"Mainspring {__version__}" in answer.text
        policy = answer.headers["Content-Security-Policy"]
        assert "script-src 'self'; style-src 'self';" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        inline = r'<script(?![^>]*(\ssrc=|application/json))|\son\w+="|\sstyle="|<style'
        assert not re.search(inline, answer.text)
        for named in re.findall(r'(?:<script|<link|<img)[^>]*(?:src|href)="([^"]+)"', answer.text):
            found = await api.anonymous.get(str(answer.url.join(named)))
            assert found.status_code == 200, named


def test_every_screen_links_to_a_page_that_exists() -> None:
    text = (ROOT / "web" / "src" / "shell" / "helpPages.ts").read_text(encoding="utf-8")
    named = dict(re.findall(r'"(/[a-z-]*)": "([^"]+)"', text))
    site = DocsSite(BUILT_DOCS)
    assert site.is_built()

    assert [page for page in named.values() if site.find(page) is None] == []
    screens = {f"/{path.split('/')[1]}" for path in SCREENS}
    assert screens - named.keys() == {"/sign-in", "/oauth"}


async def test_a_browser_revalidates_a_page_by_its_etag(api: Api) -> None:
    first = await api.anonymous.get("/docs/")
    again = await api.anonymous.get("/docs/", headers={"If-None-Match": first.headers["ETag"]})

    assert (first.headers["Cache-Control"], first.headers["Content-Encoding"]) == (
        "no-cache",
        "gzip",
    )
    assert (again.status_code, again.content) == (304, b"")


async def test_a_missing_slash_is_added_and_other_files_are_not_served(api: Api) -> None:
    for path, target in (("/docs", "/docs/"), ("/docs/guides/webhooks", "/docs/guides/webhooks/")):
        answer = await api.anonymous.get(path)
        assert (answer.status_code, answer.headers["Location"]) == (308, target)
    for path in ("files.json", "made-from", "../files.py", "%2e%2e/files.py", "index.html.gz"):
        assert (await api.anonymous.get(f"/docs/{path}")).status_code in {401, 404}, path


async def test_a_site_that_is_built_later_is_found(tmp_path: Path) -> None:
    site = DocsSite(tmp_path)
    assert not site.is_built()
    (tmp_path / "files.json").write_text('{"index.html": "abc"}')
    (tmp_path / "made-from").write_text("1")

    assert site.is_built()
    found = site.find("")
    assert found is not None
    assert found.etag == '"abc"'


@pytest.mark.own_app
async def test_without_a_site_the_server_says_how_it_is_built(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(DocsSite, "is_built", lambda self: False)
    answer = await api.anonymous.get("/docs/")

    assert answer.status_code == 503
    assert "python scripts/build_page.py --only docs" in answer.text
