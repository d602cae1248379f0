"""Metrics at k of labels in sparse tensors: rows have as many labels as they have, or none."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as v1

SCORES = np.array([[0.1, 0.5, 0.2, 0.2], [0.4, 0.3, 0.2, 0.1], [0.0, 0.1, 0.2, 0.7]], np.float32)
LABELS = [{1, 2}, {3}, set()]  # the two best: {1, 2}, {0, 1}, {3, 2}
PLACES = np.array([[0, 0], [0, 1], [1, 0]], np.int64)
VALUE = v1.SparseTensorValue(PLACES, np.array([1, 2, 3], np.int64), np.array([3, 2], np.int64))


@pytest.mark.parametrize("as_value", [True, False])
@pytest.mark.parametrize(
    ("name", "options", "right"),
    [
        ("precision_at_k", {}, 2 / 6),
        ("recall_at_k", {}, 2 / 3),
        ("recall_at_k", {"class_id": 3}, 0.0),
        ("precision_at_k", {"weights": np.array([1.0, 0.0, 0.0])}, 1.0),
    ],
)
def test_rows_count_with_the_labels_that_they_have(name, options, right, as_value):
    best = [set(row) for row in np.argsort(-SCORES, axis=1, kind="stable")[:, :2].tolist()]
    found = sum(len(labels & top) for labels, top in zip(LABELS, best, strict=True))
    assert found == 2
    with v1.Graph().as_default(), v1.Session() as session:
        labels = VALUE if as_value else v1.SparseTensor(*VALUE)
        value, update = getattr(v1.metrics, name)(labels, v1.constant(SCORES), 2, **options)
        session.run(v1.local_variables_initializer())
        assert session.run(update) == pytest.approx(right)
        assert session.run(value) == pytest.approx(right)
