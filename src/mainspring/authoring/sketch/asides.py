"""Parts of a request that ask for nothing: courtesy, background, and how long a text may be."""

from __future__ import annotations

import re
from typing import Final

_COURTESY: Final = re.compile(
    r"(?:(?:please|pls|plz|thanks?|thank you|thx|cheers|hi|hello|hey|ok|okay|so)\W*)+"
    r"|(?:and )?that'?s (?:it|all)\W*"
    r"|(?:for|on|with|at) (?:each|every|any) (?:such )?"
    r"(?:call|webhook|event|message|mail|e-?mail|page|file|row|change|request)s?\W*"
    r"|(?:take|takes|receive|accept|get|catch)(?: all| the| every)? (?:incoming )?"
    r"(?:webhooks?|calls?|events?)\W*",
    re.IGNORECASE,
)
# A sentence about somebody or something, and no order.
_STATEMENT: Final = re.compile(
    r"(?:and |but |because |so )?(?:i|i'm|im|i've|i'd|we|we're|we've|our|my|there|here|he|she|they|"
    r"they're|it|it's|this|are|is|am|was|were|nobody|everybody|somebody|someone|people|customers)\b",
    re.IGNORECASE,
)
_WANTS: Final = re.compile(
    r"\b(?:must|should|shall|need|needs|want|wants|have to|has to|would like|wish|please|let|"
    r"make sure)\b|'d like",
    re.IGNORECASE,
)
_LENGTH: Final = re.compile(
    r"(?:(?:and|but|please|pls) )*(?:(?:keep|make) (?:it|this|that|them) |use |in )?"
    r"(?:(?:not|no|never) (?:longer|more) than|at most|under|below|less than|max(?:imum)?(?: of)?|"
    r"up to|fewer than|shorter than|exactly|about|around) "
    r"(?:\d{1,5}|[a-z]{3,9}) (?:words?|sentences?|lines?|bullets?|bullet points?|characters?|"
    r"paragraphs?)(?: long)?\W*(?:please|pls)?\W*",
    re.IGNORECASE,
)


def is_courtesy(text: str) -> bool:
    """Words that only accompany what is asked for."""
    return _COURTESY.fullmatch(text.strip()) is not None


def is_statement(text: str) -> bool:
    """A sentence that tells something and asks for nothing."""
    return _STATEMENT.match(text) is not None and _WANTS.search(text) is None


def is_length(text: str) -> bool:
    """How long a text may be: an instruction for the model that writes it."""
    return _LENGTH.fullmatch(text.strip()) is not None
