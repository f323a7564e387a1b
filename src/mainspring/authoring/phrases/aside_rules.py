"""Words about time that do not say when to run, and those that say it in no usable way."""

from __future__ import annotations

import re
from typing import Final

from mainspring.authoring.phrases.fragments import DAY, MONTH, NUM, Rule

_MOVES: Final = "This falls on another date each time, and a schedule cannot tell which."
ASIDE_RULES: Final[tuple[Rule, ...]] = (
    # A beginning or an end, which a schedule does not have.
    (
        re.compile(
            r"(?:starting|beginning|commencing|ending|to|as of|for)(?: on| from| in| with)?"
            rf" (?:the )?(?:(?:next|this|end of) (?:{DAY}|{MONTH}|week|month|year)|tomorrow"
            rf"|today|next {NUM} (?:day|week|month)|{MONTH}\b(?! \d))"
        ),
        lambda m: ("limit", None, False),
    ),
    # What looks back or counts, and is not about when to run.
    (
        re.compile(
            rf"(?:the )?(?:last|past|previous|preceding|next|coming|this|current) (?:{NUM} )?"
            r"(?:minute|hour|day|week|month|quarter|year|weekends)\b(?! of| in every)(?:'s)?"
        ),
        lambda m: (
            None
            if m[0].startswith("the last day") or m[0] == "last day"
            else ("nothing", None, False)
        ),
    ),
    (
        re.compile(
            rf"(?:since|older than|more than|less than|within|for) (?:the )?(?:last )?{NUM} "
            r"(?:minute|hour|day|week|month|year)\b"
        ),
        lambda m: ("nothing", None, False),
    ),
    (
        re.compile(r"(?:of|for) the (?:day|week|month)(?! (?:at|on))\b(?='s| '| \w+)"),
        lambda m: ("nothing", None, False),
    ),
    # The 9 o'clock meeting and what happened on Sunday are what it is about.
    (
        re.compile(
            r"(?:the|my|our|your|their|this|that) \d{1,2}(?: ?: ?\d\d| ?: ?\d\d (?:am|pm)"
            r"| (?:am|pm)| o'clock) (?!(?:on|every|and|or|to|in|at|by|each|daily|weekdays|weekends"
            rf"|{DAY})\b)(?=[a-z]{{3,}})"
        ),
        lambda m: ("nothing", None, False),
    ),
    (
        re.compile(
            r"(?:due|happen(?:s|ed|ing)?|occurr?(?:s|ed|ing)?|created|added|opened|closed|received"
            r"|arriv(?:es|ed|ing)|came in|signed up|filed|reported|changed|took place|expir\w+"
            r"|ending|ends|ended)(?: on| by| before| over| during| since)(?: the)?"
            rf" (?:{DAY}|weekends)\b(?! at )"
        ),
        lambda m: ("nothing", None, False),
    ),
    # A greeting is no schedule.
    (
        re.compile(
            r"(?:nice|good|happy|great|lovely|relaxing|wonderful|pleasant|restful)(?: long| new)?"
            rf" (?:weekends|week|month|year|{DAY})\b(?! at )"
        ),
        lambda m: ("nothing", None, False),
    ),
    # The hours of a shop or a train are not those of the automation.
    (
        re.compile(r"(?:opens?|closes?|shuts?|departs?) at \d{1,2}(?: ?: ?\d\d)?(?: (?:am|pm)\b)?"),
        lambda m: ("nothing", None, False),
    ),
    # How often is left open; whoever asked is asked back.
    (
        re.compile(
            r"(?:regularly|periodically|frequently(?! asked| used)|occasionally|constantly"
            r"|continuously|continually|from time to time|(?:every )?now and (?:then|again)"
            r"|every so often|once in a while|at regular intervals|as often as possible"
            r"|all the time|around the clock)\b"
            r"|(?:on a )?regular (?:basis|updates?|reports?|summar(?:y|ies)|digests?|checks?)\b"
        ),
        lambda m: ("often", m[0], False),
    ),
    (
        re.compile(
            r"(?:several|some|many|multiple|a few|a couple of|various) times (?:a|an|per|every)"
            r" (?:hour|day|week|month|quarter|year)\b"
            r"|every (?:few|several|couple|couple of|some) (?:minute|hour|day|week|month)\b"
        ),
        lambda m: ("often", m[0], True),
    ),
    (
        re.compile(rf"(?:{NUM}|an?|half an?) (?:minute|hour|day|week|month) from now\b"),
        lambda m: ("once", m[0], True),
    ),
    (
        re.compile(r"in (?:half )?an? (?:(?:minute|hour)\b|(?:day|week|month)(?= [,.;!]|$))"),
        lambda m: ("once", m[0], True),
    ),
    # What comes by the sun, the moon or the church is on no clock and no calendar of ours.
    (
        re.compile(
            r"(?:at|around|before|after|by)(?: the)? (?:sunset|sunrise|sundown|dawn|dusk)\b"
        ),
        lambda m: ("vague", m[0], False),
    ),
    (
        re.compile(
            r"(?:on|every|at|in|during)(?: the)? (?:easter(?: (?:sun|mon)\b)?|good fri\b|ash wed\b"
            r"|pentecost|whit (?:sun|mon)\b|ramadan|eid|diwali|passover|hanukkah|lunar new year"
            r"|chinese new year|(?:full|new) moon|solstice|equinox)"
        ),
        lambda m: ("impossible", _MOVES, True),
    ),
    (
        re.compile(r"(?:on|every)(?: the)?(?: public| bank| national| legal)? holidays?\b"),
        lambda m: ("impossible", "Public holidays are not known here.", True),
    ),
)
