"""Egress: the only way out of the house.

A request leaves in five moves. Its URL is read once, strictly (``url``). The host is
compared with the hosts that were approved, and only then are secrets put in their places
(``errand``). The name is resolved, every address is judged (``addresses``) and the judged
address itself is dialled (``dial``). The answer is read within its size and its time
(``headers``, ``body``). A redirect goes through all of it again (``journey``).

Nothing else in the product opens an outbound connection.
"""

from mainspring.gate.egress.http_client import CallHttp, Egress, Reveal
from mainspring.gate.egress.url import UrlTarget, canonical_host, parse_url

__all__ = ["CallHttp", "Egress", "Reveal", "UrlTarget", "canonical_host", "parse_url"]
