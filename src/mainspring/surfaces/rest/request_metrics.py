"""How many requests this process has answered, by route and status, and how long they took.

A route is counted by its template: a path may hold a token, and there are as many paths as
there are callers. What matches no route is counted together.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from mainspring.surfaces.rest.exposition import MetricFamily, MetricSample

if TYPE_CHECKING:
    from starlette.types import Scope

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BOUNDS: Final = (0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0)
NO_ROUTE: Final = "none"


class RequestMetrics:
    """Counts since this process began."""

    def __init__(self) -> None:
        self._answered: Counter[tuple[str, str, int]] = Counter()
        # By route: how many were within each bound, all of them, and their seconds.
        self._within: dict[str, list[float]] = {}

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = route_of(scope)
        self._answered[method, route, status] += 1
        within = self._within.setdefault(route, [0.0] * (len(_BOUNDS) + 2))
        for place, bound in enumerate(_BOUNDS):
            if seconds <= bound:
                within[place] += 1
        within[-2] += 1
        within[-1] += seconds

    def families(self) -> list[MetricFamily]:
        return [
            MetricFamily(
                "mainspring_http_requests_total",
                "Requests that this process has answered.",
                [
                    MetricSample(count, {"method": method, "route": route, "status": str(status)})
                    for (method, route, status), count in sorted(self._answered.items())
                ],
                "counter",
            ),
            MetricFamily(
                "mainspring_http_request_seconds",
                "How long answering took.",
                [one for route in sorted(self._within) for one in self._buckets(route)],
                "histogram",
            ),
        ]

    def _buckets(self, route: str) -> list[MetricSample]:
        within = self._within[route]
        bounds = [*(str(bound) for bound in _BOUNDS), "+Inf"]
        return [
            *(
                MetricSample(count, {"route": route, "le": bound}, "_bucket")
                for bound, count in zip(bounds, within, strict=False)
            ),
            MetricSample(within[-1], {"route": route}, "_sum"),
            MetricSample(within[-2], {"route": route}, "_count"),
        ]


def route_of(scope: Scope) -> str:
    """The template of the route that a request came to."""
    return str(getattr(scope.get("route"), "path", NO_ROUTE))
