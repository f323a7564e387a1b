"""Signature Version 4: the worked examples that AWS publishes for S3."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mainspring.outbound.object_storage.s3 import SigV4Credentials, sign_headers

HOST = "examplebucket.s3.amazonaws.com"
NOW = datetime(2013, 5, 24, tzinfo=UTC)
WHO = SigV4Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
PUT = {"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"}


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "body", "signature"),
    [
        (
            "GET",
            "/test.txt",
            {},
            {"Range": "bytes=0-9"},
            b"",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test$file.text",
            {},
            PUT,
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET",
            "/",
            {"lifecycle": ""},
            {},
            b"",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET",
            "/",
            {"prefix": "J", "max-keys": "2"},
            {},
            b"",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
    ids=["get", "put", "a query without a value", "a query out of order"],
)
def test_a_published_example_gets_its_published_signature(
    method: str,
    path: str,
    query: dict[str, str],
    headers: dict[str, str],
    body: bytes,
    signature: str,
) -> None:
    made = sign_headers(WHO, method, HOST, path, query=query, headers=headers, body=body, now=NOW)
    assert made["Authorization"].endswith(f"Signature={signature}")


def test_the_secret_key_is_not_shown() -> None:
    assert WHO.key not in repr(WHO)
