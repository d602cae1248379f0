"""Names from before TensorFlow 1.0 do what those of TensorFlow 1 do."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf


def test_old_names_compute_what_new_ones_do() -> None:
    a, b = np.arange(8.0, dtype="float32").reshape(2, 2, 2), np.ones([2, 2, 2], "float32")
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(
            [tf.mul(a, 2.0), tf.sub(a, b), tf.neg(a), tf.pack([a, b]), tf.batch_matmul(a, b, adj_x=True)]
        )
        wanted = [a * 2, a - b, -a, np.stack([a, b]), np.swapaxes(a, 1, 2) @ b]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_old_summaries_are_written(tmp_path: object) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.scalar_summary("a loss", tf.constant(2.0))
        tf.histogram_summary("values", tf.constant([1.0, 2.0]))
        tf.image_summary("picture", tf.zeros([1, 2, 2, 3]))
        written = tf.Summary.FromString(session.run(tf.merge_all_summaries()))
        assert sorted(value.tag for value in written.value) == ["a_loss", "picture/image/0", "values"]
        tf.train.SummaryWriter(str(tmp_path), session.graph).close()
        with pytest.raises(ValueError, match="one tag"):
            tf.scalar_summary(["a", "b"], tf.constant([1.0, 2.0]))
