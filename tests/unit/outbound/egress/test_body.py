"""A body is decoded within its bound, however it was packed."""

from __future__ import annotations

import gzip
import zlib

import pytest

from mainspring.contracts.errors import UpstreamError
from mainspring.outbound.egress.body import GZIP_MEMBERS, BodyDecoder, content_encoding

TEXT = b"the quick brown fox " * 500


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _decoded(encoding: str, data: bytes, *, room: int = 1_000_000, size: int = 65_536) -> bytes:
    decoder = BodyDecoder(encoding, room)
    for at in range(0, len(data), size):
        decoder.feed(data[at : at + size])
    return decoder.finish()


def _gzip(data: bytes) -> bytes:
    """Without the time in its head, so that every process gives the test the same name."""
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000, 1_000_000])
@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("identity", TEXT),
        ("gzip", _gzip(TEXT)),
        ("gzip", _gzip(TEXT[:100]) + _gzip(TEXT[100:])),
        ("gzip", _gzip(TEXT) + b"\0" * 40),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", _raw_deflate(TEXT)),
    ],
)
def test_a_body_comes_out_whole_whatever_the_pieces(encoding: str, data: bytes, size: int) -> None:
    assert _decoded(encoding, data, size=size) == TEXT


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
def test_no_body_is_an_empty_body(encoding: str) -> None:
    assert _decoded(encoding, b"") == b""


@pytest.mark.parametrize(
    ("encoding", "data"),
    [("identity", TEXT), ("gzip", _gzip(TEXT)), ("deflate", zlib.compress(TEXT))],
)
def test_a_body_may_reach_its_limit_and_not_a_byte_more(encoding: str, data: bytes) -> None:
    assert _decoded(encoding, data, room=len(TEXT)) == TEXT

    with pytest.raises(UpstreamError) as caught:
        _decoded(encoding, data, room=len(TEXT) - 1)

    assert caught.value.code == "response_too_large"
    assert not caught.value.retryable


def test_a_bomb_is_stopped_one_byte_beyond_the_limit() -> None:
    bomb = zlib.compress(b"\0" * 50_000_000, 9)
    decoder = BodyDecoder("deflate", 1_000)

    with pytest.raises(UpstreamError):
        decoder.feed(bomb)

    assert len(decoder._body) <= 1_000


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", _gzip(TEXT)[:-1]),
        ("gzip", _gzip(TEXT)[:50]),
        ("gzip", b"\x1f"),
        ("gzip", b"not gzip at all"),
        ("gzip", _gzip(TEXT)[:-8] + b"\0" * 8),
        ("deflate", zlib.compress(TEXT)[:-5]),
        ("deflate", b"\xff\xff\xff\xff"),
        ("gzip", _gzip(b"") * (GZIP_MEMBERS + 1)),
    ],
)
def test_a_damaged_body_is_the_upstreams_fault(encoding: str, data: bytes) -> None:
    with pytest.raises(UpstreamError) as caught:
        _decoded(encoding, data)

    assert caught.value.code == "bad_response"


@pytest.mark.parametrize(
    ("header", "encoding"),
    [
        (None, "identity"),
        ("", "identity"),
        ("identity", "identity"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("deflate", "deflate"),
        (" gzip , identity", "gzip"),
    ],
)
def test_the_encodings_that_were_offered_are_understood(header: str | None, encoding: str) -> None:
    headers = {} if header is None else {"content-encoding": header}

    assert content_encoding(headers) == encoding


@pytest.mark.parametrize("header", ["br", "zstd", "compress", "gzip, gzip", "deflate, br", "aes"])
def test_any_other_encoding_is_refused_with_a_sentence(header: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        content_encoding({"content-encoding": header})

    assert caught.value.code == "bad_encoding"
    assert not caught.value.retryable
