"""Keys of models that the operator gave as settings: into the vault at the start, and gone.

It is for a first start without a command. The connection is the installation's and is named
after its kind. What cannot be taken is told in the log and keeps nobody from starting.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import Invalid, Problem
from mainspring.outbound.models.endpoint_url import read_base_url
from mainspring.settings import PREFIX
from mainspring.store.audit import INSTALLATION, AuditRecord, append_audit
from mainspring.workspace.model_connections import (
    API_KEY,
    HOME_URLS,
    KIND,
    URL,
    ModelConnection,
    ModelConnectionSpec,
    ModelKind,
    connect,
    list_all_connections,
)

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault

log = logging.getLogger(__name__)

_KEY: Final = re.compile(r"[!-~]{1,4096}")


async def take_in(database: Database, vault: Vault, settings: Settings) -> None:
    """Makes the connections that the settings speak of, where they are not there already."""
    given: dict[ModelKind, tuple[str | None, str | None]] = {
        "anthropic": (settings.anthropic_key, settings.anthropic_url),
        "openai": (settings.openai_key, settings.openai_url),
        "groq": (settings.groq_key, settings.groq_url),
    }
    for kind, (key, url) in given.items():
        if key is None and url is None:
            continue
        try:
            await _take(database, vault, kind, key, url)
        except Problem as problem:
            name = f"{PREFIX}{kind.upper()}_{'URL' if key is None else 'KEY'}"
            log.warning("%s was not used: %s", name, problem.detail)


async def _take(
    database: Database, vault: Vault, kind: ModelKind, key: str | None, url: str | None
) -> None:
    if key is not None and _KEY.fullmatch(key) is None:
        raise Invalid("A key has no spaces and plain letters alone.", code="key")
    # A key goes where the settings say, and not where somebody else led the connection.
    said = {KIND: kind, URL: HOME_URLS[kind] if url is None else read_base_url(url)}
    before = await _there(database, kind)
    if before is not None and await _same(vault, before, said[URL], key):
        return
    async with database.transaction() as tx:
        made, _ = await connect(tx, vault, ModelConnectionSpec(None, kind, said, key, None))
        detail = {"base_url": made.base_url, "from": "settings"}
        entry = AuditRecord(INSTALLATION, "engine", None, "admin_connect_model", kind, detail)
        await append_audit(tx, [entry])


async def _there(database: Database, name: str) -> ModelConnection | None:
    for one in await list_all_connections(database):
        if one.workspace_id is None and one.name == name:
            return one
    return None


async def _same(vault: Vault, before: ModelConnection, url: str, key: str | None) -> bool:
    if before.kind != before.name or before.base_url != url:
        return False
    if key is None or not before.has_key:
        return key is None
    try:
        return (await vault.reveal(before.secret_scope, [API_KEY]))[API_KEY] == key
    except Problem:
        # It does not open any more; the one that is given takes its place.
        return False
