"""What a person hands over is read as it was meant, or refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.surfaces.cli.documents import read_document, read_inputs

LIMITS = Limits(json_bytes=200)
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "tags": {"type": "array"},
        "either": {"type": ["string", "integer"]},
        "open": {},
    },
}


def _refused(path: Path) -> Invalid:
    with pytest.raises(Invalid) as refusal:
        read_document(str(path), LIMITS)
    return refusal.value


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    problem = _refused(tmp_path / "nowhere.json")

    assert "There is no file" in problem.detail
    assert "nowhere.json" in problem.detail


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "is a folder" in _refused(tmp_path).detail


def test_more_than_the_limit_is_never_read(tmp_path: Path) -> None:
    assert _refused(Path("/dev/zero")).code == "json_too_large"
    large = tmp_path / "large.json"
    large.write_bytes(b"[" + b"1," * 1_000 + b"1]")

    assert _refused(large).code == "json_too_large"


@pytest.mark.parametrize(
    ("text", "code", "pointer"),
    [
        (b"", "json_empty", ""),
        (b'{"a": ', "json_syntax", "/a"),
        (b'{"a": {"b": 1, "b": 2}}', "json_duplicate_key", "/a/b"),
        (b'{"a": [1, NaN]}', "json_constant", "/a/1"),
        (b"\x7fELF\x02\x01\x00\xff", "json_encoding", ""),
        (b"\xef\xbb\xbf{}", "json_byte_order_mark", ""),
        (b"[" * 100, "json_depth", "/0" * 63 + "/0"),
    ],
)
def test_what_is_wrong_in_a_file_has_a_place(
    tmp_path: Path, text: bytes, code: str, pointer: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text)

    problem = _refused(path)

    assert problem.code == code
    assert [finding.pointer for finding in problem.findings] == [pointer]


def _inputs(*text: str, whole: str | None = None) -> dict[str, Any]:
    return read_inputs(text, whole, SHAPE, Limits())


def test_text_stays_text_where_the_input_is_text() -> None:
    assert _inputs("name=007", "count=7", 'tags=["a"]') == {
        "name": "007",
        "count": 7,
        "tags": ["a"],
    }
    assert _inputs("name=a=b") == {"name": "a=b"}
    assert _inputs("name=") == {"name": ""}


def test_an_input_of_any_type_is_json_if_it_can_be() -> None:
    assert _inputs("open=7", "either=7") == {"open": 7, "either": 7}
    assert _inputs("open=seven", "either=seven") == {"open": "seven", "either": "seven"}


def test_a_single_input_goes_before_the_object() -> None:
    assert _inputs("count=2", whole='{"count": 1, "name": "x"}') == {"count": 2, "name": "x"}


@pytest.mark.parametrize(
    ("words", "whole", "pointer"),
    [
        (["count"], None, "/inputs"),
        (["=1"], None, "/inputs"),
        (["count=seven"], None, "/inputs/count"),
        (["tags=[1,1"], None, "/inputs/tags"),
        (["count=NaN"], None, "/inputs/count"),
        (["count=1", "count=2"], None, "/inputs/count"),
        ([], "[1]", "/inputs"),
        (["nmae=x"], None, "/inputs/nmae"),
        ([], '{"nmae": "x"}', "/inputs/nmae"),
    ],
)
def test_an_input_that_cannot_be_read_is_named(
    words: list[str], whole: str | None, pointer: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        _inputs(*words, whole=whole)

    assert refusal.value.findings[0].pointer == pointer


def test_a_name_that_is_declared_nowhere_is_taken_where_the_schema_asks_for_it() -> None:
    open_shape = {**SHAPE, "additionalProperties": {"type": "boolean"}}

    assert read_inputs(["more=true"], None, open_shape, Limits()) == {"more": True}


def test_a_duplicate_key_in_the_inputs_is_refused() -> None:
    with pytest.raises(Invalid) as refusal:
        _inputs(whole='{"a": 1, "a": 2}')

    assert refusal.value.code == "json_duplicate_key"
