"""The commands of a page, run one after another as a reader would, at a terminal that agrees.

A block after "Save this as" is written to that file. Values that a reader copies from the output
of an earlier command are read from the server instead.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.acceptance.commands import EXAMPLES, PATIENCE, ROOT, Mainspring
from tests.acceptance.server import Started, started
from tests.kit.terminals import terminal

BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"Save this as `([\w.-]+)`[^`]*\Z")
COPIED = re.compile(r"^URL=\S+\nTOKEN=\S+$", re.MULTILINE)
TAKE = """take() { python -c "import json,sys; print(json.load(sys.stdin)['$1'])"; }\n"""
TOKEN = """\
TOKEN=$(mainspring webhook token "{name}" --json | take token)
ID=$(mainspring show "{name}" --json | take id)
"""
# More answers than any page has questions.
YES = ("y",) * 40


@dataclass(frozen=True, slots=True)
class Guide:
    """A page, what a reader replaces in it, and the blocks that need something from outside."""

    page: str
    replace: Mapping[str, str] = field(default_factory=dict)
    skip: tuple[str, ...] = ()
    before: str = ""


GUIDES = [
    Guide(
        "get-started/first-automation.md",
        replace={
            "mainspring validate hello.json\n": "mainspring validate hello.json || true\n",
            "mainspring webhook token Greet\n": TOKEN.format(name="Greet"),
        },
        skip=("kill -9",),
    ),
    Guide(
        "get-started/troubleshooting.md",
        replace={
            "mainspring runs transcript last\n": "",
            "mainspring activate": "true",
            "$TRIGGER": "weekdays",
        },
        before=(
            "sed 's/Wind the clocks/Check a page/' examples/first.json > page.json\n"
            "mainspring run page.json\n"
            "ID=$(mainspring show 'Check a page' --json | take id)\n"
        ),
    ),
    Guide(
        "guides/schedules.md",
        # Any id; the problem is an answer too.
        before="ID=00000000-0000-7000-8000-000000000000\n",
    ),
    Guide(
        "guides/webhooks.md",
        replace={'mainspring webhook token "Build it" push\n': TOKEN.format(name="Build it")},
        before="printf 'whsec_%s' \"$(head -c 32 /dev/urandom | base64)\" > key.txt\n",
    ),
    Guide("guides/events.md", skip=("events show", "events replay")),
]


@pytest.fixture(scope="module")
def server(mainspring: Mainspring) -> Iterator[Started]:
    with started(mainspring) as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pages' folders are, with the command under its own name."""
    made = tmp_path_factory.mktemp("guides")
    command = made / "bin" / "mainspring"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mainspring "$@"\n')
    command.chmod(0o755)
    (made / "bin" / "python").symlink_to(sys.executable)
    return made


def _script(guide: Guide, folder: Path, address: str) -> str:
    """Writes the files of a page, and answers its commands as one script."""
    text = (ROOT / "docs" / guide.page).read_text(encoding="utf-8")
    lines = ["set -e", guide.before]
    start = 0
    for block in BLOCK.finditer(text):
        body = textwrap.dedent(block[3])
        name = SAVED.search(text[start : block.start()])
        if name is not None:
            lines.append(f"cat > {name[1]} <<'END_OF_FILE'\n{body}END_OF_FILE")
        elif block[2] == "bash" and not any(piece in body for piece in guide.skip):
            lines.append(body)
        start = block.end()
    script = "\n".join(lines)
    # The reader stores the URL that they were shown.
    script = COPIED.sub("URL=$API/automations/$ID/fire", script)
    for old, new in guide.replace.items():
        assert old in script, old
        script = script.replace(old, new)
    return TAKE + f"API={address}/api/v1\n" + script.replace("http://127.0.0.1:8420", address)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: Path(guide.page).stem)
def test_the_commands_of_a_page_work_in_order(guide: Guide, server: Started, folder: Path) -> None:
    place = folder / Path(guide.page).stem
    place.mkdir()
    (place / "examples").symlink_to(EXAMPLES)
    (place / "page.sh").write_text(_script(guide, place, server.address), encoding="utf-8")
    environment = server.mainspring.environment() | {"TERM": "dumb"}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    with terminal(YES) as (theirs, talk):
        ended = subprocess.run(
            ["bash", "page.sh"],
            cwd=place,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            timeout=4 * PATIENCE,
            check=False,
        )

    assert ended.returncode == 0, talk.text
    assert "Traceback" not in talk.text
