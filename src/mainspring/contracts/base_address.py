"""The address of an outside API that an operator may set: read once, spelt one way."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def read_base_address(url: str) -> tuple[str, str] | None:
    """The address without a trailing slash, and its host with the port that will be dialled.

    None when it is no web address, or more than one.
    """
    try:
        split = urlsplit(url)
        host, port = split.hostname, split.port or _DEFAULT_PORTS.get(split.scheme)
    except ValueError:
        return None
    if not host or port is None or not set(url).isdisjoint("?#@\\ "):
        return None
    return url.rstrip("/"), f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
