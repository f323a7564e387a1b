"""Hooks of MkDocs: fill the navigation, and make the built site fit the server's security policy.

The policy of the server allows scripts and styles from files of the server only. The theme writes
a few scripts into each document; here they become files. Links to files of the repository that are
not part of the site become plain text, except for the examples, which are added to the site.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parent.parent
_SCRIPT: Final = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
_ALIGNED: Final = re.compile(r' style="text-align: ?(left|right|center);?"')
_LINK: Final = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_FENCED: Final = re.compile(r"(^```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)
_IMAGE: Final = re.compile(r"screens/[a-z0-9-]+\.(?:jpg|png)")
_SCRIPTS: Final = "assets/javascripts"
_STYLES: Final = "assets/stylesheets/extra.css"
_STYLE_TEXT: Final = (
    ".ta-left{text-align:left!important}.ta-right{text-align:right!important}"
    ".ta-center{text-align:center!important}\n"
)
# Long lists for maintainers; a search for a term should find the guide first.
_NOT_SEARCHED: Final = ("reference/requirements.md",)


def version() -> str:
    """The version of the product, read without importing it."""
    text = (ROOT / "src" / "mainspring" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if found is None:
        raise RuntimeError("src/mainspring/__init__.py has no __version__")
    return found[1]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Shows the version in the header, and replaces each ``folder/*`` of the navigation."""
    config.site_name = f"Mainspring {version()}"
    config.copyright = f"Mainspring {version()}, Apache-2.0"
    config.extra_css.append(_STYLES)
    config.nav = _filled(config.nav, Path(config.docs_dir), set(_listed(config.nav)))
    return config


def _listed(entry: Any) -> list[str]:
    if isinstance(entry, dict):
        return [path for value in entry.values() for path in _listed(value)]
    if isinstance(entry, list):
        return [path for value in entry for path in _listed(value)]
    return [str(entry)]


def _filled(entry: Any, docs: Path, listed: set[str]) -> Any:
    if isinstance(entry, dict):
        return {name: _filled(value, docs, listed) for name, value in entry.items()}
    if not isinstance(entry, list):
        return entry
    made: list[Any] = []
    for value in entry:
        if isinstance(value, str) and value.endswith("/*"):
            found = sorted((docs / value[:-2]).glob("*.md"))
            paths = [path.relative_to(docs).as_posix() for path in found]
            made += [path for path in paths if path not in listed]
        else:
            made.append(_filled(value, docs, listed))
    return made


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the examples, and leaves out the screenshots that no page shows."""
    shown = {
        name for page in files.documentation_pages() for name in _IMAGE.findall(page.content_string)
    }
    for file in list(files):
        if file.src_uri.startswith("screens/") and file.src_uri not in shown:
            files.remove(file)
    for path in sorted((ROOT / "examples").iterdir()):
        name = "index.md" if path.name == "README.md" else path.name
        text = path.read_text(encoding="utf-8")
        files.append(File.generated(config, f"examples/{name}", content=text))
    files.append(File.generated(config, _STYLES, content=_STYLE_TEXT))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Keeps links to pages; a link to another file of the repository becomes its text."""
    if page.file.src_uri in _NOT_SEARCHED:
        page.meta["search"] = {"exclude": True}
    uri = page.file.src_uri
    return "".join(
        part if part.startswith("```") else _LINK.sub(lambda found: _link(found, uri), part)
        for part in _FENCED.split(markdown)
    )


def _source_folder(uri: str) -> str:
    """The folder of a page's source, from the root of the repository."""
    is_example = uri.startswith("examples/")
    return "examples" if is_example else posixpath.dirname(f"docs/{uri}")


def _link(found: re.Match[str], uri: str) -> str:
    target, _, anchor = found["target"].partition("#")
    if "://" in target or not target or target.startswith(("mailto:", "/")):
        return found[0]
    aimed = posixpath.normpath(posixpath.join(_source_folder(uri), target))
    if aimed.startswith("examples/") or aimed == "examples":
        site_path = aimed.replace("README.md", "index.md")
    elif aimed.startswith("docs/") and not aimed.startswith("docs/requirements"):
        site_path = aimed.removeprefix("docs/")
    else:
        return found["text"]
    relative = posixpath.relpath(site_path, posixpath.dirname(uri) or ".")
    return f"[{found['text']}]({relative}{'#' + anchor if anchor else ''})"


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Moves inline scripts to files and inline styles to classes."""
    return _without_inline(output, Path(config.site_dir), page.url)


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """The same for the page of unknown addresses."""
    if not template_name.endswith(".html"):
        return output
    return _without_inline(output, Path(config.site_dir), None)


def _without_inline(output: str, site: Path, url: str | None) -> str:
    # The page of unknown addresses is served at any depth, so its addresses begin at the root.
    base = "/docs" if url is None else posixpath.relpath(".", posixpath.dirname(f"{url}x") or ".")

    def move(found: re.Match[str]) -> str:
        if " src=" in found["attributes"] or "application/json" in found["attributes"]:
            return found[0]
        digest = hashlib.sha256(found["text"].encode()).hexdigest()[:8]
        name = f"{_SCRIPTS}/inline.{digest}.js"
        written = site / name
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(found["text"], encoding="utf-8")
        return f'<script{found["attributes"]} src="{base}/{name}"></script>'

    if url is None:
        output = re.sub(r'(href|src)="/(?!docs/)', r'\1="/docs/', output)
        output = output.replace('"base": "/"', '"base": "/docs/"')
        output = output.replace('"search": "/assets', '"search": "/docs/assets')
    return _ALIGNED.sub(r' class="ta-\1"', _SCRIPT.sub(move, output))


def on_post_build(config: MkDocsConfig) -> None:
    """Removes what the server does not serve: source maps and languages of the search."""
    site = Path(config.site_dir)
    shutil.rmtree(site / _SCRIPTS / "lunr", ignore_errors=True)
    for folder, _, names in os.walk(site):
        for name in names:
            if name.endswith((".map", ".gz")) or name == "sitemap.xml":
                (Path(folder) / name).unlink()
