"""Egress: guarded HTTP.

A request leaves in five steps. Its URL is parsed once, strictly (``url``). The host is compared
with the approved hosts, and only then are secrets inserted (``prepared_request``). The name is
resolved, every address is checked, and the checked address itself is dialled (``dial``). The
response is read within its size and its time (``headers``, ``body``). A redirect goes through all
of it again (``http_client``).

Entry points: ``Egress`` for a process, ``CallHttp`` for one call, ``parse_url``.
"""

from mainspring.outbound.egress.http_client import CallHttp, Egress, Reveal
from mainspring.outbound.egress.url import UrlTarget, canonical_host, parse_url

__all__ = ["CallHttp", "Egress", "Reveal", "UrlTarget", "canonical_host", "parse_url"]
