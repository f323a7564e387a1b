"""The public address: whether the internet can reach it as configured, and a test of it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.roles import Permission
from mainspring.outbound.public_address import (
    PURPOSE,
    PublicAddressProbe,
    classify_address,
    make_proof,
)
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import needs, public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

# The tests make requests to this server itself, so they are not repeated at will.
_FRESH_SECONDS: Final = 10.0


class ProofAnswer(BaseModel):
    """What only this server can answer, and how the request arrived."""

    model_config = ConfigDict(extra="forbid")

    proof: str
    host: str = Field(description="The Host header of the request.")
    forwarded_hops: int = Field(description="The entries of X-Forwarded-For.")


class PublicAddressCheckShape(BaseModel):
    """One test and its result."""

    model_config = ConfigDict(extra="forbid")

    name: str
    verdict: Literal["ok", "doubtful", "wrong", "unknown"]
    detail: str
    suggestion: str | None


class PublicAddressAnswer(BaseModel):
    """The public address, and the result of its last test since the server started."""

    model_config = ConfigDict(extra="forbid")

    url: str | None
    kind: Literal["unset", "not_https", "private", "public"]
    checked_at: datetime | None
    checks: list[PublicAddressCheckShape]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("health")
    last: dict[str, Any] = {"checked_at": None, "checks": []}
    one_at_a_time = asyncio.Lock()

    def describe() -> JsonAnswer:
        url = services.settings.public_url
        return JsonAnswer({"url": url, "kind": classify_address(url), **last})

    @made.get(
        "/public-address/proof",
        summary="Prove that this server answers",
        response_model=ProofAnswer,
    )
    @public
    async def prove_identity(
        request: Request, nonce: Annotated[str, Query(pattern="^[0-9a-f]{32}$")]
    ) -> JsonAnswer:
        key = await services.vault.derived_key(PURPOSE)
        forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
        return JsonAnswer(
            {
                "proof": make_proof(key, nonce),
                "host": request.headers.get("host", ""),
                "forwarded_hops": len([one for one in forwarded.split(",") if one.strip()]),
            }
        )

    @made.get(
        "/public-address",
        summary="Can the internet reach this server, as configured?",
        response_model=PublicAddressAnswer,
        responses=problems(401, 403),
    )
    @needs(Permission.READ)
    async def read_public_address() -> JsonAnswer:
        return describe()

    @made.post(
        "/public-address/check",
        summary="Test the public address",
        response_model=PublicAddressAnswer,
        responses=problems(401, 403),
    )
    @needs(Permission.CONNECT)
    async def check_public_address() -> JsonAnswer:
        async with one_at_a_time:
            now = datetime.now(UTC)
            if (
                last["checked_at"] is None
                or (now - last["checked_at"]).total_seconds() > _FRESH_SECONDS
            ):
                key = await services.vault.derived_key(PURPOSE)
                settings = services.settings
                probe = PublicAddressProbe(settings.public_url, key, proxies=settings.proxies)
                found = await probe.run()
                last.update(checked_at=now, checks=[asdict(one) for one in found])
        return describe()

    return made
