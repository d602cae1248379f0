"""Words as numbers, as programs that classify texts use them: ``tf.contrib.learn.preprocessing``.

processor = VocabularyProcessor(max_document_length=4)
list(processor.fit_transform(["a cat", "a dog and a cat"]))     [1, 2, 0, 0], [1, 3, 4, 1]
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from situs._src.base.drafts import write_named
from situs._src.base.errors import ArgumentError, DataLossError
from situs._src.base.typing import PathLike
from situs._src.files.paths import local

# Acronyms, the first of words that are written together, and runs of letters, digits, apostrophes and hyphens.
_WORDS = re.compile("|".join([r"[A-Z][A-Z]+(?![a-z])", r"[A-Z][a-z]+(?=[A-Z])", r"[\w'-]+"]))
Tokenizer = Callable[[Iterable[str]], Iterable[list[str]]]


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for text in iterator:
        yield _WORDS.findall(text)


class CategoricalVocabulary:
    """Which number a category has: the first is for those that are unknown, others are counted as they come.

    Args:
        unknown_token: What stands for a category that is unknown.
        support_reverse: Whether `reverse` can be asked.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._mapping = {unknown_token: 0}
        self._reverse_mapping = [unknown_token]
        self._freq: dict[Any, int] = {}
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Whether categories that come from now on are unknown."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a category, a new one if it is new; 0 if it is unknown."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a category."""
        if self.get(category) > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Forgets what was counted at most `min_frequency` times; the most frequent have the first numbers from now on.

        Args:
            min_frequency: What is counted so often, or less often, is forgotten.
            max_frequency: What is counted so often, or more often, is left out; -1 for nothing.
        """
        by_name = sorted(self._freq.items(), key=lambda each: (isinstance(each[0], str), each[0]))
        by_count = sorted(by_name, key=lambda each: each[1], reverse=True)
        kept = [
            (category, count)
            for category, count in by_count
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        ]
        self._reverse_mapping = [self._unknown_token, *(category for category, _ in kept)]
        self._mapping = {category: number for number, category in enumerate(self._reverse_mapping)}
        self._freq = dict(kept)

    def reverse(self, class_id: int) -> Any:
        """The category that has a number.

        Raises:
            ValueError: the vocabulary was made without it.
        """
        if not self._support_reverse:
            raise ArgumentError("This vocabulary was made with support_reverse=False, so it knows no reverse.")
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Texts as vectors of the numbers of their words, all of one length.

    Args:
        max_document_length: The length; longer texts are cut, shorter ones end in zeros.
        min_frequency: How often a word has to be counted, at least, before it has a number, less one.
        vocabulary: The vocabulary to use.
        tokenizer_fn: From texts to lists of words; `tokenizer` by default.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Tokenizer | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary if vocabulary is not None else CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: object = None) -> VocabularyProcessor:
        """Counts the words of texts, and takes no others from then on."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: object = None) -> Iterator[Any]:
        """`fit`, then `transform`."""
        texts = list(raw_documents)
        return self.fit(texts).transform(texts)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """A vector of numbers for each text."""
        for words in self._tokenizer(raw_documents):
            numbers = np.zeros(self.max_document_length, np.int64)
            for place, word in enumerate(words[: self.max_document_length]):
                numbers[place] = self.vocabulary_.get(word)
            yield numbers

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of vectors of numbers, with spaces between them."""
        for numbers in documents:
            yield " ".join(self.vocabulary_.reverse(int(number)) for number in numbers)

    def save(self, filename: PathLike) -> None:
        """Writes the vocabulary to a file: JSON, which `restore` reads, and not TensorFlow's pickle."""
        words = self.vocabulary_
        content = {
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "categories": words._reverse_mapping,
            "counts": [words._freq.get(each, 0) for each in words._reverse_mapping],
            "support_reverse": words._support_reverse,
            "is_frozen": words._freeze,
        }
        write_named(local(filename), json.dumps(content))

    @classmethod
    def restore(cls, filename: PathLike) -> VocabularyProcessor:
        """What `save` wrote, with the usual tokenizer.

        Raises:
            DataLossError: the file is something else.
        """
        try:
            content = json.loads(local(filename).read_text(encoding="utf-8"))
            words = CategoricalVocabulary(content["categories"][0], content["support_reverse"])
            words._reverse_mapping = list(content["categories"])
            words._mapping = {category: number for number, category in enumerate(words._reverse_mapping)}
            words._freq = {each: n for each, n in zip(words._reverse_mapping, content["counts"], strict=True) if n}
            words.freeze(content["is_frozen"])
            return cls(content["max_document_length"], content["min_frequency"], words)
        except (ValueError, KeyError, TypeError, IndexError):
            raise DataLossError(
                f"{local(filename)} is no vocabulary that VocabularyProcessor.save of Situs has written. One that "
                "TensorFlow wrote is a pickle, which runs code when it is read: fit the vocabulary anew."
            ) from None
