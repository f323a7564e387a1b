"""A bench whose runs can save artifacts, in a folder or in any other blob store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal

from mainspring.actions.vocabulary import build_actions
from mainspring.app import build_application
from mainspring.contracts.clock import Clock, SystemClock
from mainspring.contracts.context import (
    Account,
    Actor,
    ClientWait,
    HttpClient,
    Mailbox,
    Mailer,
    RunRef,
    Transaction,
)
from mainspring.contracts.errors import InternalError
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.contracts.registry import Registry
from mainspring.workspace.artifacts.blobs import BlobStore
from mainspring.workspace.artifacts.links import LinkSigner
from mainspring.workspace.artifacts.save import artifacts_capability
from tests.kit.bench import Bench


class Call:
    """One call of a run, inside a transaction of the test's."""

    def __init__(self, bench: Bench, tx: Transaction, run: RunRef) -> None:
        self.actor = Actor(bench.application.workspace_id, "run", run.id)
        self.run: RunRef | None = run
        self.clock: Clock = SystemClock()
        self.key = f"{run.id}/{run.step}/1"
        self.tx = tx
        self.client_wait: ClientWait | None = None
        self.repeated = False

    @property
    def http(self) -> HttpClient:
        raise InternalError("no way out")

    @property
    def mail(self) -> Mailer:
        raise InternalError("no mail")

    @property
    def account(self) -> Account | None:
        return None

    def mailbox(self) -> AbstractAsyncContextManager[Mailbox]:
        raise InternalError("no mailbox")

    async def owner_address(self) -> str | None:
        return None

    def spend(self, usd: Decimal) -> None:
        raise AssertionError(usd)

    @property
    def model(self) -> str:
        raise AssertionError("no model")

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise AssertionError(request)


@asynccontextmanager
async def saving_bench(bench: Bench, blobs: BlobStore) -> AsyncIterator[Bench]:
    """The bench over the same database, with artifacts.save over these blobs."""
    application = bench.application
    links = LinkSigner(application.vault, application.settings.address)
    registry = Registry(
        actions=build_actions(application.limits),
        capabilities=(
            artifacts_capability(blobs, application.limits, links),
            *bench.outside.capabilities(),
        ),
    )
    made = build_application(
        application.settings, application.limits, registry, application.database
    )
    try:
        yield Bench(made, bench.outside)
    finally:
        await made.wakeup_sender.aclose()
        await made.egress.aclose()
