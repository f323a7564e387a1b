"""A description of each filter and test, shown to template authors."""

from __future__ import annotations

from typing import Final

FILTER_WORDS: Final = {
    "join": "The items of a list as one text, with a separator between them.",
    "length": "How many characters, items or keys there are.",
    "default": "Another value where this one is missing, or also where it is empty.",
    "upper": "The text in upper case.",
    "lower": "The text in lower case.",
    "truncate": "The beginning of a long text, cut between words unless `killwords` is set.",
    "tojson": "The value as JSON.",
    "date": "A date and time in the given format.",
    "replace": "The text with one piece replaced by another.",
    "trim": "The text without blanks, or other characters, at its ends.",
    "slugify": "Letters and digits in lower case with single dashes between them.",
    "first": "The first item.",
    "last": "The last item.",
    "sort": "The items in order, by themselves or by one entry of each.",
    "reverse": "The text or the list from its end to its beginning.",
}
TEST_WORDS: Final = {
    "defined": "The name exists.",
    "undefined": "The name does not exist.",
    "none": "The value is nothing.",
    "number": "The value is a number.",
    "string": "The value is text.",
    "mapping": "The value is an object.",
    "sequence": "The value can be walked over: a list, a text or an object.",
    "boolean": "The value is true or false.",
}
