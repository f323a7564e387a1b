"""Where artifacts are kept: the address of a store is read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring.contracts.clock import SystemClock
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.outbound.object_storage.blob_stores import FolderStore, open_blobs
from mainspring.outbound.object_storage.s3 import S3Store, parse_s3_url
from mainspring.settings import Settings


def test_an_address_says_host_bucket_prefix_and_region() -> None:
    place = parse_s3_url("s3+https://s3.example.com:9000/my-bucket/a/b/?region=eu-central-1")
    assert place.origin.pair == "s3.example.com:9000"
    assert (place.bucket, place.prefix, place.region) == ("my-bucket", "a/b/", "eu-central-1")
    plain = parse_s3_url("s3+http://10.0.0.7/files")
    assert (plain.origin.pair, plain.prefix, plain.region) == ("10.0.0.7:80", "", "us-east-1")


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.example.com/bucket",
        "s3://bucket/prefix",
        "s3+ftp://host/bucket",
        "s3+https://host",
        "s3+https://host/",
        "s3+https:///bucket",
        "s3+https://host/B",
        "s3+https://user:password@host/bucket",
        "s3+https://host/bucket/a b",
        "s3+https://host/bucket/%2e%2e",
        "s3+https://host/bucket?region=",
        "s3+https://host/bucket?region=eu&acl=public",
        "s3+https://host:99999/bucket",
    ],
)
def test_an_address_that_is_none_is_refused_by_name(url: str) -> None:
    with pytest.raises(Invalid, match="MAINSPRING_ARTIFACTS_URL") as refused:
        parse_s3_url(url)
    assert refused.value.suggestion


def test_the_data_folder_is_the_place_when_nothing_is_set(tmp_path: Path) -> None:
    made = open_blobs(Settings(home=tmp_path), Limits(), SystemClock())
    assert isinstance(made, FolderStore)
    assert list(tmp_path.iterdir()) == [], "nothing is touched before the first artifact"


async def test_a_store_needs_its_keys() -> None:
    url = "s3+https://host/bucket"
    with pytest.raises(Invalid, match="key"):
        open_blobs(Settings(artifacts_url=url, artifacts_key_id="x"), Limits(), SystemClock())
    made = open_blobs(
        Settings(artifacts_url=url, artifacts_key_id="x", artifacts_key="y"),
        Limits(),
        SystemClock(),
    )
    assert isinstance(made, S3Store)
    await made.aclose()
