"""A recipe as files: a folder, an archive, and everything that hostile hands put into them."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.contracts.limits import Limits
from mainspring.recipes.package import read_archive, read_package, read_place
from mainspring.recipes.package.example_recipes import build_good_recipe
from mainspring.recipes.package.loader import MOST_BYTES, MOST_ENTRIES

SCRIPT = {"script": {"source_file": "main.ts", "triggers": []}}
RECIPE = {**build_good_recipe(), "template": SCRIPT}
FILES = {
    "recipe.json": json.dumps(RECIPE).encode(),
    "main.ts": b"return 1;\n",
    "preview.md": b"# It says one.\n",
    "examples/b.json": b'{"name": "b", "says": "second"}',
    "examples/a.json": b'{"name": "a", "says": "first"}',
    "README.md": b"for its authors",
}


def packed(*more: tuple[str, bytes], files: dict[str, bytes] | None = None) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [*(FILES if files is None else files).items(), *more]:
            archive.writestr(name, content)
    return made.getvalue()


def laid_out(root: Path, files: dict[str, bytes] | None = None) -> Path:
    for name, content in (FILES if files is None else files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def refused(data: bytes) -> Invalid:
    with pytest.raises(Invalid) as wrong:
        read_archive(data)
    assert wrong.value.findings
    return wrong.value


def test_a_folder_and_its_archive_are_the_same_document(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    document = read_place(folder)

    assert document["template"]["script"] == {"triggers": [], "source": "return 1;\n"}
    assert document["preview"] == "# It says one.\n"
    assert [one["name"] for one in document["examples"]] == ["today", "a", "b"]
    assert read_archive(packed()) == document
    archive = tmp_path / "mine.zip"
    archive.write_bytes(packed())
    assert read_place(archive) == document
    inner = {f"mine/{name}": content for name, content in FILES.items()}
    inner["__MACOSX/._recipe.json"] = b"\x00"
    assert read_archive(packed(files=inner)) == document
    (tmp_path / "recipe.json").write_text(json.dumps(document))
    assert read_place(tmp_path / "recipe.json") == document
    (tmp_path / "link").symlink_to(folder)
    assert read_place(tmp_path / "link") == document


BAD_NAMES = {
    "up and out": "../evil.ts",
    "out from inside": "examples/../../evil.ts",
    "absolute": "/etc/passwd",
    "a drive": "C:/evil.ts",
    "a drive without a slash": "c:evil.ts",
    "a backslash": "..\\evil.ts",
    "a backslash inside": "examples\\a.json",
    "a network place": "//server/share/x",
    "an empty part": "examples//a.json",
    "a dot part": "./recipe.json",
    "a control character": "a\x07.ts",
    "a line break": "a\n.ts",
    "an escape of terminals": "\x1b[31mred.ts",
    "a right-to-left mark": "a\u202etxt.ts",
    "a letter that looks like another": "re\u0441ipe.json",
    "a trailing dot": "main.ts.",
    "a trailing blank": "main.ts ",
    "a device": "examples/NUL.json",
    "another device": "com1",
    "a stream of a file": "main.ts:hidden",
    "a star": "examples/*.json",
    "too long": "a" * 201,
    "too deep": "/".join("abcdefghij"),
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_an_entry_is_refused_by_its_name(name: str) -> None:
    wrong = refused(packed((name, b"x")))

    assert wrong.code == "bad_entry_name"
    assert "\x1b" not in wrong.detail
    assert "\n" not in wrong.detail


def _with(name: str, change: Callable[[zipfile.ZipInfo], None], content: bytes = b"x") -> bytes:
    """An archive with one more entry, whose header says something odd."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, text in FILES.items():
            archive.writestr(one, text)
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        change(info)
        archive.writestr(info, content)
    return made.getvalue()


def _mode(mode: int) -> Callable[[zipfile.ZipInfo], None]:
    def change(info: zipfile.ZipInfo) -> None:
        info.external_attr = (mode | 0o644) << 16

    return change


def _method(method: int) -> Callable[[zipfile.ZipInfo], None]:
    def change(info: zipfile.ZipInfo) -> None:
        info.compress_type = method

    return change


def _patched(data: bytes, name: str, offset: int, value: bytes) -> bytes:
    """The archive with a field of the entry's line in the list of entries overwritten."""
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    return data[: at + offset] + value + data[at + offset + len(value) :]


def _doubled(first: str, second: str) -> bytes:
    """Two entries whose names came to be alike after the archive was made."""
    files = {**FILES, first: b"1", "x" * len(second): b"2"}
    return packed(files=files).replace(b"x" * len(second), second.encode())


def _many() -> bytes:
    return packed(*((f"examples/{number}.txt", b"") for number in range(MOST_ENTRIES + 1)))


def _overlapping() -> bytes:
    data = packed(("one.txt", b"1"), ("two.txt", b"2"))
    first = data.rindex(b"PK\x01\x02", 0, data.rindex(b"one.txt"))
    return _patched(data, "two.txt", 42, data[first + 42 : first + 46])


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a symbolic link": (lambda: _with("a.ts", _mode(stat.S_IFLNK), b"/etc/passwd"), "entry_link"),
    "a pipe": (lambda: _with("a.ts", _mode(stat.S_IFIFO)), "entry_link"),
    "a device": (lambda: _with("a.ts", _mode(stat.S_IFCHR)), "entry_link"),
    "a socket": (lambda: _with("a.ts", _mode(stat.S_IFSOCK)), "entry_link"),
    "bzip2": (lambda: _with("a.ts", _method(zipfile.ZIP_BZIP2)), "entry_method"),
    "lzma": (lambda: _with("a.ts", _method(zipfile.ZIP_LZMA)), "entry_method"),
    "an encrypted entry": (
        lambda: _patched(packed(), "main.ts", 8, b"\x01\x00"),
        "entry_encrypted",
    ),
    "one name twice": (lambda: _doubled("a.ts", "a.ts"), "entry_twice"),
    "the recipe twice": (lambda: _doubled("b.ts", "recipe.json"), "entry_twice"),
    "names that differ in capitals": (lambda: packed(("MAIN.ts", b"x")), "entry_case"),
    "a recipe in capitals beside the recipe": (
        lambda: packed(("Recipe.JSON", b"{}")),
        "entry_case",
    ),
    "an archive inside": (lambda: packed(("more.zip", packed())), "nested_archive"),
    "a packed file inside": (lambda: packed(("more.TAR.GZ", b"x")), "nested_archive"),
    "too many entries": (_many, "too_many_entries"),
    "zeros without end": (lambda: packed(("a.txt", b"\0" * (2 * 1_048_576))), "entry_ratio"),
    "more than all may be": (
        lambda: packed(*((f"{n}.bin", os.urandom(9_000) * 100) for n in range(5))),
        "recipe_too_large",
    ),
    "an archive that is too large": (lambda: packed() + b"\0" * MOST_BYTES, "archive_too_large"),
    "a recipe that is too large": (
        lambda: packed(files={"recipe.json": os.urandom(60_000).hex().encode() * 10}),
        "entry_too_large",
    ),
    "a size that is a lie, too small": (
        lambda: _patched(packed(), "main.ts", 24, struct.pack("<I", 3)),
        "archive_damaged",
    ),
    "a size that is a lie, too large": (
        lambda: _patched(packed(), "main.ts", 24, struct.pack("<I", 0xFFFFFFF0)),
        "entry_ratio",
    ),
    "a sum that does not fit": (
        lambda: _patched(packed(), "main.ts", 16, b"\0\0\0\0"),
        "archive_damaged",
    ),
    "two entries at one place": (_overlapping, "archive_damaged"),
    "a place beyond the end": (
        lambda: _patched(packed(), "main.ts", 42, struct.pack("<I", 0x7FFFFFF)),
        "archive_damaged",
    ),
    "cut off": (lambda: packed()[:-30], "archive_damaged"),
    "nothing": (lambda: b"", "archive_damaged"),
    "not an archive": (lambda: b"%PDF-1.7", "archive_damaged"),
    "something before the archive": (lambda: b"#!/bin/sh\n" + packed(), "archive_damaged"),
    "no recipe": (lambda: packed(files={"main.ts": b"x"}), "no_recipe"),
    "two folders": (
        lambda: packed(files={"a/recipe.json": b"{}", "b/recipe.json": b"{}"}),
        "no_recipe",
    ),
    "a recipe that is no JSON": (lambda: packed(files={"recipe.json": b"{"}), "json_syntax"),
    "a recipe with one key twice": (
        lambda: packed(files={"recipe.json": b'{"slug": "a", "slug": "b"}'}),
        "json_duplicate_key",
    ),
    "a recipe that is a list": (lambda: packed(files={"recipe.json": b"[]"}), "type"),
    "an example that is no JSON": (lambda: packed(("examples/c.json", b"NaN")), "json_constant"),
    "a script that is not UTF-8": (
        lambda: packed(files={**FILES, "main.ts": b"\xff\xfe"}),
        "entry_encoding",
    ),
    "a script that is not there": (
        lambda: packed(files={"recipe.json": FILES["recipe.json"]}),
        "no_file",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_hostile_archive_is_refused_with_a_sentence(case: str) -> None:
    make, code = HOSTILE[case]
    wrong = refused(make())

    assert wrong.code == code
    assert wrong.detail.endswith((".", ")"))


def test_a_bomb_is_never_inflated_beyond_its_bound() -> None:
    """Its header claims little, so only what comes out of it can tell."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    flood = squeezer.compress(b"[" * 8_000_000) + squeezer.flush()
    data = packed(files={"recipe.json": b"x"})
    inner = zipfile.ZipFile(io.BytesIO(data)).infolist()[0]
    body = 30 + len("recipe.json")
    sizes = struct.pack("<III", inner.CRC, len(flood), 1_000_000)
    local = data[:14] + sizes + data[26:body] + flood
    listed = bytearray(data[data.index(b"PK\x01\x02") :])
    listed[16:28] = sizes
    ending = listed.index(b"PK\x05\x06")
    listed[ending + 16 : ending + 20] = struct.pack("<I", len(local))
    wrong = refused(local + bytes(listed))

    assert wrong.code in {"archive_damaged", "entry_too_large"}


def _source_file(name: Any) -> dict[str, bytes]:
    template = {"script": {"source_file": name, "triggers": []}}
    return {**FILES, "recipe.json": json.dumps({**RECIPE, "template": template}).encode()}


@pytest.mark.parametrize(
    "name", ["../main.ts", "/etc/passwd", "C:main.ts", "main.js", ".git/config", ""]
)
def test_a_script_is_a_file_of_the_recipe_and_no_other(name: str, tmp_path: Path) -> None:
    folder = laid_out(tmp_path, _source_file(name))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("secret")
    with pytest.raises(Invalid) as wrong:
        read_place(folder)
    assert wrong.value.findings[0].pointer == "/template/script/source_file"


@pytest.mark.parametrize("kind", ["link", "link to a folder", "pipe", "capitals", "archive"])
def test_a_hostile_folder_is_refused_with_a_sentence(kind: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    folder = laid_out(tmp_path / "mine")
    if kind == "link":
        (folder / "main.ts").unlink()
        (folder / "main.ts").symlink_to(outside / "secret")
    elif kind == "link to a folder":
        (folder / "more").symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(folder / "pipe")
    elif kind == "capitals":
        (folder / "MAIN.ts").write_text("x")
    else:
        (folder / "old.zip").write_bytes(packed())
    with pytest.raises(Invalid) as wrong:
        read_place(folder)
    assert wrong.value.code in {"entry_link", "entry_case", "nested_archive"}
    assert "secret" not in wrong.value.detail


def test_two_previews_and_two_sources_are_not_one(tmp_path: Path) -> None:
    both = {**RECIPE, "preview": "again"}
    with pytest.raises(Invalid) as wrong:
        read_place(laid_out(tmp_path / "a", {**FILES, "recipe.json": json.dumps(both).encode()}))
    assert wrong.value.findings[0].pointer == "/preview"
    script = {"script": {"source": "return 2;", "source_file": "main.ts"}}
    both = {**RECIPE, "template": script}
    with pytest.raises(Invalid) as wrong:
        read_place(laid_out(tmp_path / "b", {**FILES, "recipe.json": json.dumps(both).encode()}))
    assert wrong.value.findings[0].pointer == "/template/script/source_file"


def test_a_place_that_is_not_there_is_missing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("nothing", "loop"):
        with pytest.raises(NotFound):
            read_place(tmp_path / name)


def test_a_document_is_bounded_in_size_and_depth() -> None:
    large = {**build_good_recipe(), "preview": "x" * (Limits().json_bytes + 1)}
    deep: Any = {}
    for _ in range(200):
        deep = {"a": deep}
    for document in (
        large,
        {**build_good_recipe(), "template": deep},
        {**build_good_recipe(), "slug": "\0"},
    ):
        with pytest.raises(Invalid):
            read_package(document)
