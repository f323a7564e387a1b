"""What the operator says that models cost; it counts above every price list.

A price stands under a model's name as a definition writes it: the model alone, or with the
name of one connection before it. It is the installation's, so it is read and written outside
of every workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.model import Price

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.asking import QueryExecutor

_PRICE_COLUMNS: Final = """
    model, input_usd_per_million, output_usd_per_million, cached_usd_per_million,
    stored_usd_per_million, set_at
"""
_OF = f"SELECT {_PRICE_COLUMNS} FROM model_prices WHERE model = ANY($1::text[])"
_LIST = f"SELECT {_PRICE_COLUMNS} FROM model_prices ORDER BY model LIMIT 1000"
_SET = f"""
    INSERT INTO model_prices (model, input_usd_per_million, output_usd_per_million,
        cached_usd_per_million, stored_usd_per_million, set_by)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (model) DO UPDATE SET
        input_usd_per_million = excluded.input_usd_per_million,
        output_usd_per_million = excluded.output_usd_per_million,
        cached_usd_per_million = excluded.cached_usd_per_million,
        stored_usd_per_million = excluded.stored_usd_per_million,
        set_by = excluded.set_by, set_at = now()
    RETURNING {_PRICE_COLUMNS}
"""
_FORGET = "DELETE FROM model_prices WHERE model = $1 RETURNING model"


@dataclass(frozen=True, slots=True)
class OperatorPrice:
    """A price that somebody set."""

    model: str
    price: Price
    set_at: datetime


async def load_operator_prices(database: QueryExecutor, models: Sequence[str]) -> dict[str, Price]:
    """The prices that are set for any of these names."""
    rows = await database.fetch(_OF, list(models))
    return {row["model"]: _build_price(row).price for row in rows}


async def list_prices(database: QueryExecutor) -> list[OperatorPrice]:
    """Every price that is set, by name."""
    return [_build_price(row) for row in await database.fetch(_LIST)]


async def set_price(tx: Transaction, model: str, price: Price, by: UUID) -> OperatorPrice:
    """Sets the price of a model; an earlier one is gone."""
    row = await tx.fetchrow(
        _SET,
        model,
        price.input_usd_per_million,
        price.output_usd_per_million,
        price.cached_usd_per_million,
        price.stored_usd_per_million,
        by,
    )
    return _build_price(row)


async def forget_price(tx: Transaction, model: str) -> bool:
    """The price list counts again; False when no price was set."""
    return await tx.fetchrow(_FORGET, model) is not None


def _build_price(row: Any) -> OperatorPrice:
    price = Price(
        row["input_usd_per_million"],
        row["output_usd_per_million"],
        row["cached_usd_per_million"],
        row["stored_usd_per_million"],
    )
    return OperatorPrice(row["model"], price, row["set_at"])
