"""The embedding model of OpenAI, asked over the installation's connection openai.

One model makes all vectors of an installation, so that they compare. What it takes is paid by
the workspace whose texts they are: set aside before, booked after, with a row in the ledger.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, DeadlineExceeded, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.contracts.model import Price, Usage, is_refusal
from mainspring.gate.budget_reservations import (
    BudgetReservation,
    reserve_budget,
    settle_reservation,
)
from mainspring.gate.capability_call import CapabilityCall
from mainspring.gate.policy import RunPolicy
from mainspring.gate.run_budget import ENDLESS, RunBudget
from mainspring.gate.usage_meter import UsageRow, write_usage
from mainspring.outbound.models import model_client
from mainspring.outbound.models.model_registry import ProviderModels, endpoint_of
from mainspring.outbound.models.prices import find_listed_price
from mainspring.outbound.request_tracking import RequestSendTracker
from mainspring.store.shield import run_to_completion
from mainspring.workspace.model_connections import (
    ModelConnection,
    list_all_connections,
    load_operator_prices,
)

if TYPE_CHECKING:
    from mainspring.store.database import Database

CONNECTION: Final = "openai"
MODEL: Final = "text-embedding-3-small"
CALLER: Final = "embeddings"
_NAMES: Final = (f"{CONNECTION}/{MODEL}", MODEL)
# Pages are held while their vectors are made, and somebody waits for an answer.
_SECONDS: Final = 30.0
# The model reads no more than this of one text.
_LONGEST: Final = 8_000
# So many of the longest go into one request, so that what was paid is known of each.
_AT_ONCE: Final = 50


class OpenAIEmbedder:
    """Vectors of 1536 numbers, for money."""

    name = f"{CONNECTION}/{MODEL}"
    dimensions = 1_536
    outward = True

    def __init__(self, database: Database, desk: ProviderModels, clock: Clock) -> None:
        self._database = database
        self._desk = desk
        self._clock = clock

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in their order."""
        connection = await self._connection()
        price = await self._price(connection)
        # A text of nothing at all is refused there.
        cut = [text[:_LONGEST] or " " for text in texts]
        most = _most(cut)
        promise = await self._promised(workspace_id, most, price)
        started = self._clock.monotonic()
        taken: list[int] = []
        try:
            vectors = await self._asked(connection, cut, taken)
        finally:
            ms = round((self._clock.monotonic() - started) * 1000)
            await run_to_completion(self._booked(promise, price, sum(taken), ms))
        return self._checked(vectors, len(cut))

    async def _connection(self) -> ModelConnection:
        for one in await list_all_connections(self._database):
            if one.workspace_id is None and one.name == CONNECTION and one.kind == "openai":
                return one
        raise Conflict(
            "Embeddings are configured to use OpenAI, and this installation is not connected to "
            "it.",
            code="no_model",
            suggestion=(
                "Ask the operator to run `mainspring models connect openai --for-everyone`."
            ),
        )

    async def _price(self, connection: ModelConnection) -> Price:
        operator = await load_operator_prices(self._database, _NAMES)
        for name in _NAMES:
            if name in operator:
                return operator[name]
        listed = await asyncio.to_thread(find_listed_price, connection.kind, MODEL, writes=False)
        if listed is None:
            raise Conflict(f"The price of {MODEL} is unknown.", code="unknown_price")
        return listed

    async def _asked(
        self, connection: ModelConnection, texts: Sequence[str], taken: list[int]
    ) -> list[list[float]]:
        """All vectors; what each group of texts took is told in ``taken``, come what may."""
        endpoint, way = endpoint_of(connection, MODEL), self._desk.way_to(connection)
        vectors: list[list[float]] = []
        departure = RequestSendTracker()
        try:
            async with asyncio.timeout(_SECONDS):
                for first in range(0, len(texts), _AT_ONCE):
                    group = texts[first : first + _AT_ONCE]
                    # What was asked may be charged, until the provider says no.
                    taken.append(_most(group))
                    with (departure := RequestSendTracker()):
                        made, tokens = await model_client.embed(
                            endpoint, group, way, self._desk.limits
                        )
                    taken[-1] = tokens or taken[-1]
                    vectors += made
        except BaseException as error:
            if departure.is_held or is_refusal(error):
                taken.pop()
            if isinstance(error, TimeoutError):
                raise DeadlineExceeded("The embedding model did not respond in time.") from None
            raise
        return vectors

    async def _promised(self, workspace_id: UUID, most: int, price: Price) -> BudgetReservation:
        """Sets the most aside that it can take; refused when the workspace's day is spent."""
        reservation = BudgetReservation(
            workspace_id, generate_id(), None, None, "", price.cost(most, 0), most
        )
        nobody = Actor(workspace_id, "client", workspace_id)
        ask = CapabilityCall(
            CALLER, {}, nobody, None, 1, RunPolicy(()), RunBudget(ENDLESS), id=reservation.id
        )
        lasts = timedelta(seconds=self._desk.limits.reservation_seconds)
        async with self._database.transaction() as tx:
            await reserve_budget(tx, reservation, ask, lasts)
        return reservation

    async def _booked(
        self, reservation: BudgetReservation, price: Price, tokens: int, ms: int
    ) -> None:
        cost = price.cost(tokens, 0)
        used = Usage(MODEL, tokens, 0, cost, provider=CONNECTION, price=price.as_dict(), ms=ms)
        row = UsageRow(
            reservation.workspace_id, reservation.id, self._clock.now(), None, 1, CALLER, used
        )
        async with self._database.transaction() as tx:
            await settle_reservation(tx, reservation, cost)
            if tokens:
                await write_usage(tx, row)

    def _checked(self, vectors: list[list[float]], wanted: int) -> list[list[float]]:
        """Of length 1, whoever made them."""
        if len(vectors) != wanted or any(len(one) != self.dimensions for one in vectors):
            raise UpstreamError(
                f"The embedding model did not return vectors of {self.dimensions} numbers.",
                code="bad_vectors",
                retryable=False,
            )
        return [_of_length_one(vector) for vector in vectors]


def _most(texts: Sequence[str]) -> int:
    """A token is one byte at least."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _of_length_one(vector: list[float]) -> list[float]:
    length = math.sqrt(math.fsum(number * number for number in vector)) or 1.0
    return [number / length for number in vector]
