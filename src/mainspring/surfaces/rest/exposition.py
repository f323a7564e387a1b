"""Numbers in the text format of Prometheus: families of samples, and nothing about what they mean.

A family has one kind and one sentence, and its samples stand together. A label may hold any
text: what would end it early is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, Literal

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Kind = Literal["counter", "gauge", "histogram"]
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One number, by its labels; a histogram's samples have an ending to their name."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    ending: str = ""


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Samples of one name."""

    name: str
    sentence: str
    samples: Sequence[MetricSample]
    kind: Kind = "gauge"

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.sentence}"
        yield f"# TYPE {self.name} {self.kind}"
        for sample in self.samples:
            name = f"{self.name}{sample.ending}{_labels(sample.labels)}"
            yield f"{name} {_number(sample.value)}"


def gauge(name: str, sentence: str, value: float) -> MetricFamily:
    """A family of one number that goes up and down."""
    return MetricFamily(name, sentence, (MetricSample(value),))


def by_label(
    name: str, sentence: str, label: str, values: Mapping[str, float], kind: Kind = "gauge"
) -> MetricFamily:
    """A family with one label, a sample for each of its values."""
    samples = tuple(MetricSample(value, {label: shown}) for shown, value in values.items())
    return MetricFamily(name, sentence, samples, kind)


def histogram(
    name: str, sentence: str, bounds: Sequence[float], counts: Sequence[float], total: float
) -> MetricFamily:
    """A family of how often a value was within each bound; the last count is of those above all."""
    within = accumulate(counts)
    named = [*(str(bound) for bound in bounds), "+Inf"]
    samples = [
        MetricSample(count, {"le": bound}, "_bucket")
        for bound, count in zip(named, within, strict=True)
    ]
    samples += [MetricSample(total, ending="_sum"), MetricSample(sum(counts), ending="_count")]
    return MetricFamily(name, sentence, samples, "histogram")


def format_exposition(families: Iterable[MetricFamily]) -> str:
    """The whole page; a family without samples is left out."""
    lines = [line for family in families if family.samples for line in family.lines()]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    shown = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{shown}}}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
