"""However the bytes are cut, the same is heard."""

from __future__ import annotations

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.actions.script.sandbox.frames import Frame, FrameParser, FrameTooLong, ProtocolError

NONCE = "0f1e"
MARK = b"\0" + NONCE.encode() + b" "
WORDS = st.lists(st.sampled_from([b"a", b"\n", b"\0", b"\x000f", b" ", b"f1e ", b"\0\0"])).map(
    b"".join
)
FRAMES = st.dictionaries(st.sampled_from(["call", "done"]), st.text(max_size=5), min_size=1)


def told(frame: dict[str, str]) -> bytes:
    return MARK + orjson.dumps(frame) + b"\n"


def heard(pieces: list[bytes], most: int = 1000) -> tuple[bytes, list[Frame]]:
    listener = FrameParser()
    listener.expect(NONCE)
    words, frames = b"", []
    for piece in pieces:
        for output in listener.hear(piece, most):
            if isinstance(output, Frame):
                frames.append(output)
            else:
                words += output
    return words + listener.left, frames


@given(st.lists(st.tuples(WORDS, FRAMES)), WORDS, st.sets(st.integers(0, 200)))
def test_frames_and_text_are_distinguished_however_they_are_split(
    talk: list[tuple[bytes, dict[str, str]]], last: bytes, cuts: set[int]
) -> None:
    parts = [(words.replace(MARK, b""), frame) for words, frame in talk]
    last = last.replace(MARK, b"")
    whole = b"READY\n" + b"".join(words + told(frame) for words, frame in parts) + last
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(whole)), len(whole)]

    words, frames = heard([whole[start:end] for start, end in pairwise(places)])

    assert words == b"".join(words for words, _ in parts) + last
    assert frames == [Frame(frame) for _, frame in parts]


def test_a_frame_above_the_bound_is_not_collected() -> None:
    with pytest.raises(FrameTooLong):
        heard([b"READY\n" + MARK, b"x" * 600, b"x" * 600])


@pytest.mark.parametrize("body", [b"{", b"[1]", b"null", b'{"a": NaN}', b""])
def test_a_frame_that_is_no_object_is_garbled(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        heard([b"READY\n" + MARK + body + b"\n"])


def test_who_does_not_greet_is_not_listened_to() -> None:
    with pytest.raises(ProtocolError):
        heard([b"error: ", b"what?\n"])


def test_nothing_is_a_frame_before_the_mark_is_known() -> None:
    listener = FrameParser()

    assert list(listener.hear(b"READY\n" + told({"done": "x"}), 100)) == []
    assert listener.greeted
