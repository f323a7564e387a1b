"""Flags about prompt injection and hidden text.

Names, descriptions, prompts and MCP tool texts are data, yet a model may follow them as
instructions. Findings are shown to a person; nothing is rejected.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mainspring.authoring.models import ReviewFlag
from mainspring.authoring.review.definition_reader import DocumentReader, DocumentText
from mainspring.authoring.review.quoting import quote_text
from mainspring.authoring.review.suspicious import (
    BLOB,
    CHAIN,
    DUNDER,
    FLAG_SIGN,
    INVISIBLE,
    LEAKING_ADDRESS,
    LEAST_BLOB,
    PATH,
)
from mainspring.authoring.review.view import ReviewView
from mainspring.definition.secret_use import mask_credentials
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.templates.parser import has_syntax

# Text folding for pattern matching.

# Homoglyphs (Cyrillic, Greek and others), lower case.
_LOOK: Final = str.maketrans(
    "абвгдеёзіїјклмнопрстухѕһԁԛԝүґѵӏαβγδεηικνορτυχωıɡɑℓ",
    "a6brдeeзiijkлmhonpctyxshdqwyrvlaβyδenikvoptuxwigal",
)
_UNSEEN: Final = frozenset({"Cf", "Cc", "Mn", "Co", "Cn"})
# Letters separated by single spaces or punctuation.
_APART: Final = re.compile(r"(?<!\w)\w(?:[ ._*-]\w){4,}(?!\w)")
_BETWEEN: Final = re.compile(r"[ ._*-]")
_QUOTES: Final = str.maketrans("’‘“”", "''\"\"")


def fold_text(text: str) -> tuple[str, ...]:
    """Return a text folded to lower case with single spaces, and its homoglyph-folded form if
    different."""
    low = " ".join(text.lower().split())
    if text.isascii():
        close = _APART.sub(_close, low)
        return (low,) if close == low else (low, close)
    low = low.translate(_QUOTES)
    looks = unicodedata.normalize("NFKD", text).lower()
    seen = "".join(
        one
        for one in looks
        if one.isascii() or one.isspace() or unicodedata.category(one) not in _UNSEEN
    )
    close = _APART.sub(_close, " ".join(seen.translate(_LOOK).translate(_QUOTES).split()))
    return (low,) if close == low else (low, close)


def _close(found: re.Match[str]) -> str:
    return _BETWEEN.sub("", found[0])


# Weighted patterns for instructions to a model, and the threshold.

GRAVE: Final = 3
SLIGHT: Final = 1
# Thresholds for data and for text that is meant for a model.
_LEAST: Final = 2
_LEAST_IN_PROMPT: Final = 3
PROMPTS: Final = frozenset({"prompt", "system", "instructions"})


@dataclass(frozen=True, slots=True)
class InjectionSign:
    """A pattern with its weight and description."""

    weight: int
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    message: str


@dataclass(frozen=True, slots=True)
class InjectionFinding:
    """The gravest match of a text above the threshold, with its context."""

    message: str
    near: str


_AROUND: Final = 20
# Shorter texts are not checked.
_SHORTEST: Final = 6
_WHOM: Final = (
    r"(?:the |any |your )?(?:users?|person|people|owner|humans?|admins?|administrators?|anyone"
    r"|anybody|anything|operators?|reviewers?|team|somebody|someone)\b"
)
_RULES: Final = (
    r"(?:instructions?|prompts?|rules?|directions|directives?|guidelines?|polic(?:y|ies)"
    r"|safeguards?|guardrails?|orders|commands|constraints|restrictions|programming|training)\b"
)
_SOME: Final = r"(?:[\w'-]+ ){0,3}?"
_DROP_WORDS: Final = (
    "ignor",
    "disregard",
    "forget",
    "overrid",
    "bypass",
    "discard",
    "attention",
    "follow",
    "obey",
    "set aside",
    "drop",
    "neglect",
    "abandon",
)
_DROP: Final = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?: about)?|overrid(?:e|ing)|bypass|discard"
    r"|neglect|abandon|drop|set aside|pay no attention to|(?:do not|don'?t|stop|never|no longer) "
    r"(?:follow|obey)(?:ing)?)"
)
# Telling a model to ignore instructions in data is good practice, and common in prompts.
_IN_DATA: Final = (
    r"(?! (?:in|inside|within|from|of|on|at|to|about|for|that|which|found|contained|written"
    r"|embedded|hidden|they|it|there|you (?:find|see|read|meet|come)|and (?:links|requests))\b)"
)
_SEND: Final = r"(?:forward|send|e-?mail|post|upload|transmit|deliver|copy|leak|hand over|dump)"
_MUST: Final = r"\byou (?:must|have to|need to|are to|shall|will|are required to) (?:\w+ ){0,2}?"
_WHOLE: Final = r"(?:all|every|everything|each|any|the (?:entire|whole|full|complete))\b"
_ALL: Final = rf"(?:me |us |them |over )?{_WHOLE}"
_DATA: Final = (
    r"(?:of )?(?:the |your |our |my )?(?:\w+ )?(?:data|rows?|records?|contents?|conversations?"
    r"|database|secrets|keys|context|history|tables?)\b"
)
_BOUND: Final = (
    r"(?:rules|restrictions|filters?|guardrails|limits|limitations|censorship|ethics|policies"
    r"|guidelines|safety)"
)

_IGNORES: Final = "tells a model to ignore its instructions"
_HIDES: Final = "asks to keep something from people"
_INSIDE: Final = "asks for what is to stay inside"
_FREES: Final = "asks a model to drop its rules"
_TURNS: Final = "gives a model another role"
_AWAY: Final = "mentions moving data elsewhere"
_CALLS: Final = "tells a model what to call"
_TALKS: Final = "has marks that conversations with a model are written in"


def _sign(weight: int, words: str | tuple[str, ...], message: str, pattern: str) -> InjectionSign:
    kept = tuple(words.split("|")) if isinstance(words, str) else words
    return InjectionSign(weight, kept, re.compile(pattern), message)


_IGNORING: Final = (
    _sign(
        GRAVE,
        _DROP_WORDS,
        _IGNORES,
        rf"{_DROP} {_SOME}(?:previous|prior|above|earlier|preceding|former|original|system|safety"
        rf"|security) (?:\w+ )?{_RULES}",
    ),
    _sign(
        GRAVE,
        _DROP_WORDS,
        _IGNORES,
        rf"{_DROP} {_SOME}{_RULES} (?:that |which )?(?:you (?:were|have|had|got|received|know)"
        r"|you've|(?:were |was )?given to you|(?:stated |written )?above|so far|up to now"
        r"|before (?:this|that|it))\b",
    ),
    _sign(
        GRAVE,
        _DROP_WORDS,
        _IGNORES,
        rf"{_DROP} (?:all|every|any|each|(?:all (?:of )?)?(?:your|my|its)) (?:of )?"
        rf"(?:the |your |its |these |those |other )?(?:\w+ )?{_RULES}{_IN_DATA}",
    ),
    _sign(
        GRAVE,
        _DROP_WORDS,
        _IGNORES,
        rf"{_DROP} (?:everything|all|anything|whatever|what) (?:that |which |of what )?(?:you "
        r"(?:were|have been|had been|know|learned|learnt)|you've been|(?:i|we|they|anyone"
        r"|anybody) (?:have |has )?(?:said|told|asked|wrote))\b",
    ),
    _sign(
        GRAVE, "forget", _IGNORES, r"\bforget (?:everything|all) (?:before|above|so far|until)\b"
    ),
    _sign(
        GRAVE,
        "vergiss|vergessen|ignorier|missacht",
        _IGNORES,
        r"\b(?:vergiss|vergessen sie|ignoriere|ignorieren sie|missachte|missachten sie)\b"
        r"[^.!?]{0,50}?(?:anweisung|regeln|vorgabe|gesagte|instruktion|befehl)",
    ),
    _sign(
        GRAVE,
        "instructions|consignes|règles|regles",
        _IGNORES,
        r"\b(?:ignore|oublie)[rz]?(?: toutes| tous)? (?:les|tes|vos|ces) [^.!?]{0,20}?"
        r"(?:instructions|consignes|r[eè]gles)\b",
    ),
    _sign(
        GRAVE,
        "instruc|reglas|órdenes|ordenes|istruzioni|regole|regras|indicaciones",
        _IGNORES,
        r"\b(?:ignor[ae]n?|olvid[ae]n?|dimentica|esque[cç]a|desconsidere)(?: tod[ao]s| tutte)? "
        r"(?:las|los|tus|sus|le|as|tue|suas) [^.!?]{0,20}?(?:instrucciones|reglas|[oó]rdenes"
        r"|indicaciones|istruzioni|regole|instru[cç][oõ]es|regras)",
    ),
    _sign(
        GRAVE,
        "instructies|regels|opdrachten",
        _IGNORES,
        r"\b(?:negeer|vergeet)(?: alle)? [^.!?]{0,20}?(?:instructies|regels|opdrachten)",
    ),
    _sign(
        GRAVE,
        "инструкц|правил|указани",
        _IGNORES,
        r"(?:игнорируй|забудь)[^.!?]{0,30}?(?:инструкц|правил|указани)",
    ),
    _sign(
        GRAVE,
        "忽略|忘记|无视|無視|無効|忘れ|무시|잊",
        _IGNORES,
        r"(?:忽略|忘记|无视)[^。]{0,12}?(?:指令|指示|规则|说明)"
        r"|(?:指示|命令|ルール|規則)[^。]{0,8}?(?:無効|無視|忘れ)"
        r"|(?:지시|명령|규칙)[^.]{0,10}?(?:무시|잊)",
    ),
)
_RULING: Final = (
    _sign(
        GRAVE,
        "overrid",
        _FREES,
        r"\b(?:system|admin|administrator|developer|root|security|safety|policy|instruction) "
        r"overrid(?:e|den)\b|\boverride (?:code|protocol|your|the system)\b",
    ),
    _sign(
        GRAVE,
        "jail|mode",
        _FREES,
        r"\bjail ?break|\b(?:developer|dan|god|debug|unrestricted|admin) mode (?:is )?(?:now )?"
        r"(?:on|enabled|active|activated)\b|\b(?:enter|enable|activate) (?:\w+ )?(?:developer|dan"
        r"|god|unrestricted) mode\b|\b(?:dan|god) mode\b",
    ),
    _sign(
        GRAVE,
        "you are|you have|you're",
        _FREES,
        r"\byou (?:are|have|'re)\b[^.!?]{0,60}?\b(?:without|free (?:of|from)|no longer (?:bound "
        rf"by|have)|not bound by|(?:have|with) no) (?:any |all |your |the )?{_BOUND}\b",
    ),
    _sign(
        SLIGHT,
        "rules|instructions|polic|guidelines",
        _FREES,
        r"\b(?:rules|instructions|policy|policies|guidelines) (?:have|has|were|are|no longer)\b"
        r"[^.!?]{0,20}?\b(?:changed|replaced|suspended|lifted|void|cancelled|revoked|obsolete"
        r"|apply)\b|\b(?:changed|replaced|lifted|suspended) (?:the|your|all) (?:\w+ )?rules\b",
    ),
    _sign(
        SLIGHT,
        "orders|instructions|commands",
        _FREES,
        r"\b(?:texts?|documents?|pages?|data|content)\b[^.!?]{0,30}? (?:are|is|as) "
        r"(?:your |my )?(?:orders|instructions|commands)\b",
    ),
    _sign(
        GRAVE,
        "you are now|from now on",
        _TURNS,
        r"\byou are now (?!going\b|ready\b|able\b|at\b|in the\b|on\b|part\b|subscribed\b"
        r"|registered\b|signed\b|connected\b)"
        r"|\bfrom now on,? you (?:are|act|obey|answer to|must obey|will obey|belong)\b",
    ),
    _sign(
        GRAVE,
        "act as|pretend|behave",
        _TURNS,
        r"\b(?:act|behave|respond) as (?:if you (?:were|are|had)|an? (?:unrestricted|unfiltered"
        r"|uncensored|root|admin(?:istrator)?|superuser|evil)\b)",
    ),
    _sign(
        SLIGHT,
        "pretend|let us play|let's play|role play|roleplay",
        _TURNS,
        r"\bpretend (?:to be|that you|you)\b|\blet(?: u|')s play\b|\brole ?play\b",
    ),
    _sign(
        GRAVE,
        "instruction|orders|your ",
        "brings instructions of its own",
        r"\b(?:new|updated|real|actual|true|hidden|secret) (?:system )?(?:instructions?|orders)"
        r" ?:|\byour (?:new|real|actual|true|only) (?:instructions?|orders|task|goal|purpose) "
        r"(?:is|are)\b",
    ),
)
_HIDING: Final = (
    _sign(
        GRAVE,
        "not |n't |n’t |dont |never ",
        _HIDES,
        r"\b(?:do not|don'?t|never) (?:tell|inform|show|let) "
        r"(?:it to |this to )?(?:the |any |your )?(?:users?|person|owner|humans?|admins?"
        r"|administrators?|anyone|anybody|operators?|reviewers?)\b(?! (?:if|when|unless|about "
        r"the same|twice|more than|before|until|on|outside))",
    ),
    _sign(
        SLIGHT,
        "alert|warn|notify",
        _HIDES,
        rf"\b(?:do not|don'?t|never) (?:alert|warn|notify) {_WHOM}",
    ),
    _sign(
        GRAVE,
        "mention|reveal|report|disclose|say",
        _HIDES,
        r"\b(?:do not|don'?t|never) (?:mention|reveal|report|disclose|say) (?:this|it|that|any "
        rf"of this|a word|anything)(?: about this)? to {_WHOM}",
    ),
    _sign(
        SLIGHT,
        "mention|reveal|report|disclose",
        _HIDES,
        r"\b(?:do not|don'?t|never) (?:mention|reveal|report|disclose) (?:this|it|that you|any of"
        r" (?:this|it)|these (?:instructions|words))\b",
    ),
    _sign(
        GRAVE,
        "mention|reveal|disclose",
        _HIDES,
        r"\b(?:do not|don'?t|never) (?:mention|reveal|disclose) (?:this|these|that) "
        r"(?:instructions?|messages?|orders?|prompts?|you (?:did|were|have))\b",
    ),
    _sign(
        GRAVE,
        "without ",
        _HIDES,
        rf"\bwithout (?:telling|informing|asking|notifying|alerting) {_WHOM}",
    ),
    _sign(
        GRAVE,
        "keep|say nothing|tell nobody|tell no one",
        _HIDES,
        r"\bkeep (?:this|it|that) (?:a )?(?:secret|hidden|quiet|between us|to yourself"
        r"|confidential from)\b|\bsay nothing (?:about (?:this|it)|to)\b"
        r"|\btell (?:nobody|no one)\b(?! (?:if|when|unless))",
    ),
    _sign(
        SLIGHT,
        "nobody |no one |no approval|no confirmation|no permission|secretly|covertly|silently",
        _HIDES,
        r"\b(?:nobody|no one) (?:needs|has|should|must|will|may)(?: time)? (?:to )?(?:look|know"
        r"|see|agree|notice|check|ask)|\bno (?:approval|confirmation|permission)(?: is)? "
        r"(?:needed|required|necessary)|\b(?:secretly|covertly|silently) \w+",
    ),
    _sign(
        SLIGHT,
        "erwähne|niemand|確認は不要",
        _HIDES,
        r"erwähne (?:es|das|dies) nicht|(?:sage?|frage?)(?: es)? niemand|確認は不要",
    ),
    _sign(
        GRAVE,
        "approve |confirm |accept ",
        "asks for consent on behalf of a person",
        r"\b(?:approve|confirm|accept) (?:\w+ ){0,3}?(?:drafts?|actions?|requests?) "
        r"(?:automatically|yourself|silently|without)",
    ),
)
_TAKING: Final = (
    _sign(
        GRAVE,
        "prompt|instructions|key|password|credential|secret|token",
        _INSIDE,
        r"\b(?:reveal|print|repeat|output|leak|send|show|disclose|include|display|dump|expose"
        r"|share|give me|tell me|write out|quote)\b (?:\w+ ){0,3}?(?:(?:your|its) (?:\w+ )?"
        r"(?:prompts?|instructions|rules|keys?|tokens?)|(?:the|your|all|any|its|our|my|every) "
        r"(?:\w+ )?(?:system prompt|hidden prompt|api keys?|access tokens?|passwords?"
        r"|credentials|secrets|secret keys?|private keys?))\b",
    ),
    _sign(GRAVE, "exfiltrat", _AWAY, r"\bexfiltrat"),
    _sign(GRAVE, "you ", _AWAY, rf"{_MUST}{_SEND} {_ALL} {_DATA}"),
    _sign(SLIGHT, "you ", _AWAY, rf"{_MUST}{_SEND} {_ALL}"),
    _sign(
        SLIGHT,
        "data|row|record|content|convers|secrets|keys|context|history|table|everything",
        _AWAY,
        rf"\b{_SEND} (?:{_ALL} {_DATA}|everything (?:that )?(?:you|here|in here)\b)",
    ),
    _sign(SLIGHT, "http:", _AWAY, rf"\b{_SEND} [^.!?]{{1,50}}? to http:"),
)
_CALLING: Final = (
    _sign(
        SLIGHT,
        "call |invoke |execute |rufe |呼び出",
        _CALLS,
        r"\b(?:call|invoke|execute) [\w.'()]{3,60} (?:with|using) ?[\[{]"
        r"|\brufe (?:\w+ )?[\w.'()]{3,60} auf\b|を ?\{.{0,400}?\} ?で呼び出",
    ),
    _sign(
        SLIGHT,
        "before you|first of all|<!--|base64|urgent",
        _CALLS,
        r"\bbefore you (?:go on|continue|do anything|proceed)\b|<!--|\bbase64\b"
        r"|\burgent\b.{0,200}?\bat once\b",
    ),
    _sign(
        GRAVE,
        "does what|do what it says|do as it says|follow what it says",
        _CALLS,
        r"\bdo (?:what|as|whatever) (?:it|the \w+|this) (?:says|tells|asks)\b"
        r"(?! (?:in the (?:readme|manual)))",
    ),
    _sign(
        GRAVE,
        'tool_use|function_call|"role"|tool_calls',
        _TALKS,
        r"\"type\": ?\"(?:tool_use|function_call|tool_result)\"|\"role\": ?\"(?:assistant|system"
        r"|developer|tool)\"|\"tool_calls\": ?\[",
    ),
    _sign(GRAVE, "assistant:", _TALKS, r"\b(?:human|user): .{1,400}?\bassistant:"),
    _sign(
        SLIGHT,
        "[system]|[assistant]|[developer]|[/system]",
        _TALKS,
        r"\[/?(?:system|assistant|developer)\]",
    ),
    _sign(
        GRAVE,
        (
            "<sys",
            "</sys",
            "assistant",
            "develop",
            "instruction",
            "<tool",
            "</tool",
            "<function",
            "<|",
            "[inst",
            "[/inst",
            "sys>>",
            "## system",
        ),
        _TALKS,
        r"</? ?(?:system|assistant|developer|instructions?|tool_call|function_call|tool_result"
        r"|im_start)(?: [^<>]{0,80})?>|<\| ?(?:im_start|im_end|system|endoftext|assistant) ?\|>"
        r"|\[/?inst\]|<< ?/?sys ?>>|(?<!#)#{2,3} ?(?:system|instructions?) ?:",
    ),
)
SIGNS: Final = (*_IGNORING, *_RULING, *_HIDING, *_TAKING, *_CALLING)


def orders_in(text: str, key: str = "") -> InjectionFinding | None:
    """Return the gravest instruction-like match of a text; None if below the threshold.

    ``key`` is the text's key in its definition, such as a prompt.
    """
    if len(text) < _SHORTEST:
        return None
    least = _LEAST_IN_PROMPT if key in PROMPTS else _LEAST
    for looked_at in fold_text(text):
        found = _score_text(looked_at, least)
        if found is not None:
            return found
    return None


def _score_text(low: str, least: int) -> InjectionFinding | None:
    weight, first = 0, None
    for sign in SIGNS:
        if not any(word in low for word in sign.words):
            continue
        found = sign.pattern.search(low)
        if found is None:
            continue
        weight += sign.weight
        if first is None or sign.weight == GRAVE:
            near = low[max(0, found.start() - _AROUND) : found.end() + _AROUND]
            first = InjectionFinding(sign.message, near)
        if weight >= least:
            return first
    return None


# Flags about templates that look obfuscated.

LONG: Final = 500
_REVERSED: Final = re.compile(r"\|\s*reverse\b[^{}]{0,200}\|\s*(?:join|replace)\b")
_REPLACED: Final = re.compile(r"(?:\|\s*replace\([^()]{0,200}\)\s*){3,}")
_MADE_SECRET: Final = re.compile(r"secrets\s*\[|secrets\s*\|")
# Longer than any valid template.
_LONGEST: Final = 8_192


def flags_of_templates(view: ReviewView) -> Iterator[ReviewFlag]:
    reader = DocumentReader()
    for step in view.steps:
        nested = None if step.known is None else step.known.nested
        for part in ("when", "config"):
            value = step.whole.get(part)
            if nested is not None and part == "config":
                value = {key: below for key, below in step.config.items() if key != nested}
            for text in reader.texts(value, join_pointer(step.pointer, part)):
                yield from _flag_template(text)


def _flag_template(text: DocumentText) -> Iterator[ReviewFlag]:
    source = text.text[:_LONGEST]
    if not has_syntax(source) or text.key == "source":
        return
    expressions = expressions_in(source)
    if DUNDER.search(source):
        yield ReviewFlag(
            text.pointer,
            "odd_path",
            "A template reads a name with double underscores, which no data of a run has.",
            suggestion="Take it out.",
        )
    elif any(PATH.search(found) for found in expressions):
        yield ReviewFlag(
            text.pointer,
            "odd_path",
            "A template goes more than eight levels deep into a value.",
            "note",
            suggestion="Let an earlier step pick the value out, so that it can be seen there.",
        )
    yield from _odd_filters(text, source, expressions)


def expressions_in(source: str) -> list[str]:
    """Return the expressions between braces, scanned once from left to right."""
    found: list[str] = []
    end = 0
    while True:
        starts = [at for mark in ("{{", "{%") if (at := source.find(mark, end)) >= 0]
        if not starts:
            return found
        start = min(starts)
        end = source.find("}}" if source[start + 1] == "{" else "%}", start)
        if end < 0:
            return found
        found.append(source[start + 2 : end])


def _odd_filters(text: DocumentText, source: str, expressions: list[str]) -> Iterator[ReviewFlag]:
    odd = next(
        (
            found
            for sign in (CHAIN, _REVERSED, _REPLACED, _MADE_SECRET)
            if (found := sign.search(source))
        ),
        None,
    )
    if odd is not None:
        yield ReviewFlag(
            text.pointer,
            "odd_filter",
            f"A template makes a value in a way that is hard to follow: {quote_text(odd[0], 60)}.",
            suggestion="Say plainly what it is to become, or let an earlier step work it out.",
        )
    if any(len(found) > LONG for found in expressions):
        yield ReviewFlag(
            text.pointer,
            "long_expression",
            f"A template has an expression of more than {LONG} characters, which few people read.",
            "note",
            suggestion="Split it over steps.",
        )


# A URL argument is meant to be templated.
_ADDRESSES: Final = frozenset({"url", "query"})
_MOST_TOOLS: Final = 60
_SAYINGS: Final = frozenset({"/name", "/goal", "/intent", "/description"})
_TOOL_TEXT: Final = 8_000
# Longer than any valid template.
_LONGEST_TEMPLATE: Final = 8_192


def flags_of_texts(view: ReviewView) -> Iterator[ReviewFlag]:
    reader = DocumentReader()
    said: set[str] = set()
    for text in reader.texts(view.document):
        for flag in _flag_text(text):
            # The request is copied into name, goal and intent; that is flagged once.
            if text.pointer not in _SAYINGS or flag.code not in said:
                yield flag
            if text.pointer in _SAYINGS:
                said.add(flag.code)
    yield from _of_tools(view)
    if reader.full:
        yield ReviewFlag(
            reader.stopped,
            "not_read_whole",
            "The definition is too large to review all of its text; the review ends here.",
            suggestion="Read it yourself, or ask for a smaller one.",
        )


def _flag_text(text: DocumentText) -> Iterator[ReviewFlag]:
    yield from _invisible(text.text, text.pointer)
    yield from _orders(text.text, text.pointer, text.key)
    # Credentials have their own warning, which does not quote them.
    readable = mask_credentials(text.text) if len(text.text) >= LEAST_BLOB else ""
    blob = BLOB.search(readable)
    if blob is not None and _is_mixed(blob[0]):
        yield ReviewFlag(
            text.pointer,
            "encoded_text",
            f"This contains a long unreadable piece: {quote_text(blob[0], 30)}.",
            suggestion="Remove it, or describe what it is.",
        )
    begun = text.text[:_LONGEST_TEMPLATE]
    filled = text.key not in _ADDRESSES and "{{" in begun and "?" in begun
    if filled and LEAKING_ADDRESS.search(begun):
        yield ReviewFlag(
            text.pointer,
            "data_in_address",
            (
                "This text contains a web address whose query a run fills in, so opening it "
                "would send that data."
            ),
            suggestion="Remove the query from the address, or write the value in the text.",
        )


def _orders(text: str, at: str, key: str = "", of: str = "This text") -> Iterator[ReviewFlag]:
    found = orders_in(text, key)
    if found is not None:
        yield ReviewFlag(
            at,
            "instruction_like",
            f"{of} {found.message}: {quote_text(found.near, 100)}.",
            suggestion="Remove it unless you wrote it and mean it.",
        )


def _invisible(text: str, at: str, of: str = "This text") -> Iterator[ReviewFlag]:
    if text.isascii() and text.isprintable():
        return
    if "\U0001f3f4" in text:
        text = FLAG_SIGN.sub("", text)
    found = INVISIBLE.search(text)
    if found is not None:
        yield ReviewFlag(
            at,
            "invisible_text",
            f"{of} contains invisible characters, such as U+{ord(found[0][0]):04X}.",
            suggestion="Write it again without them.",
        )


def _is_mixed(text: str) -> bool:
    """Encoded data mixes upper case, lower case and digits; a line of dashes does not."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(kind(one) for one in text[:400]) for kind in kinds)


def _of_tools(view: ReviewView) -> Iterator[ReviewFlag]:
    """Tool descriptions, which a model reads."""
    seen: set[str] = set()
    for ask in view.asks:
        tool = view.vocabulary.capabilities.get(ask.capability)
        if tool is None or not tool.annotations.pin or tool.id in seen or len(seen) >= _MOST_TOOLS:
            continue
        seen.add(tool.id)
        of = f"The description of {quote_text(tool.id, 60)}"
        reader = DocumentReader(values=400, characters=_TOOL_TEXT * 2)
        for text in reader.texts([tool.description, tool.input_schema]):
            yield from _orders(text.text, ask.pointer, of=of)
            yield from _invisible(text.text, ask.pointer, of)
