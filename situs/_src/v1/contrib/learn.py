"""``tf.contrib.learn``: texts as numbers of words, and the digits of MNIST; its estimators are not here."""

from __future__ import annotations

from types import SimpleNamespace

from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.contrib.vocabulary import CategoricalVocabulary as _CategoricalVocabulary
from situs._src.v1.contrib.vocabulary import VocabularyProcessor as _VocabularyProcessor
from situs._src.v1.contrib.vocabulary import tokenizer as _tokenizer
from situs._src.v1.tutorials import input_data as _input_data


class ModeKeys:
    """What a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


preprocessing = SimpleNamespace(
    CategoricalVocabulary=_CategoricalVocabulary, VocabularyProcessor=_VocabularyProcessor, tokenizer=_tokenizer
)
datasets = SimpleNamespace(mnist=_input_data)

__all__ = ["ModeKeys", "datasets", "preprocessing"]

__getattr__ = _without("tf.contrib.learn")
