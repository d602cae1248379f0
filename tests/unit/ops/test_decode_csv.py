"""``tf.io.decode_csv``; values and messages are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors

v1 = tf.compat.v1
MISSING = np.array([], np.float64)


@pytest.mark.parametrize(
    ("records", "defaults", "options", "expected"),
    [
        (["1", "2", '"3"'], [[1]], {}, [[1, 2, 3]]),
        (["1,4", "2,5", "3,6"], [1, 2], {}, [[1, 2, 3], [4, 5, 6]]),
        (["1", '"3"'], [[""]], {"use_quote_delim": False}, [[b"1", b'"3"']]),
        ('1,""', [[3], [4]], {}, [1, 4]),
        ([["1", "2"], ['""', "4"]], [[5]], {}, [[[1, 2], [5, 4]]]),
        (["1.0", "-1.79e+308", '"1.79e+308"'], [MISSING], {}, [[1.0, -1.79e308, 1.79e308]]),
        (["9223372036854775807"], [np.array([], np.int64)], {}, [[9223372036854775807]]),
        (["a,,b", '"x ""y"", z",1,'], [["d"], [7], ["e"]], {}, [[b"a", b'x "y", z'], [7, 1], [b"b", b"e"]]),
        (["1\t2"], [[0], [0]], {"field_delim": "\t"}, [[1], [2]]),
        (["NA,1", "2,NA"], [[8], [9]], {"na_value": "NA"}, [[8, 2], [1, 9]]),
        ([",,", "4,5,6"], [[0], [2]], {"select_cols": [0, 2]}, [[0, 4], [2, 6]]),
        (['"a\r\nb"', "\r\nc"], [[""]], {}, [[b"a\r\nb", b"c"]]),
        ([], [[1]], {}, [[]]),
    ],
)
@pytest.mark.parametrize("in_graph", [False, True])
def test_fields_are_columns(records, defaults, options, expected, in_graph):
    if in_graph:
        with tf.Graph().as_default(), v1.Session() as sess:
            found = sess.run(tf.io.decode_csv(tf.constant(records, tf.string), defaults, **options))
    else:
        found = [x.numpy() for x in tf.io.decode_csv(tf.constant(records, tf.string), defaults, **options)]
    assert [np.asarray(column).tolist() for column in found] == expected


@pytest.mark.parametrize(
    ("records", "defaults", "message"),
    [
        (["1,2", "3,4", "5,"], [[1], np.array([], np.int32)], "Field 1 is required but missing in record 2!"),
        (["1,2", "2,234a"], [[1], [1]], "Field 1 in record 1 is not a valid int32: 234a"),
        (["1", "2147483648"], [[1]], "Field 0 in record 1 is not a valid int32: 2147483648"),
        (["1", "1_0"], [[1]], "Field 0 in record 1 is not a valid int32: 1_0"),
        (["1.0", "x"], [[1.0]], "Field 0 in record 1 is not a valid float: x"),
        (['1"2'], [[""]], "Unquoted fields cannot have quotes/CRLFs inside"),
        (['"1"2'], [[""]], "Quoted field has to end with quote followed by delim or end"),
        (['"12'], [[""]], "Quoted field has to end with quote followed by delim or end"),
        (["1,2"], [[1]], "Expect 1 fields but have 2 in record 0"),
        ([""], [[1]], "Expect 1 fields but have 0 in record 0"),
    ],
)
def test_lines_that_do_not_fit_are_refused(records, defaults, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        tf.io.decode_csv(records, defaults)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"select_cols": [0]}, ValueError, "do not match"),
        ({"select_cols": [1, 0]}, ValueError, "not strictly increasing"),
        ({"select_cols": [-1, 0]}, ValueError, "negative"),
        ({"field_delim": ",,"}, ValueError, "1 char"),
        ({"record_defaults": [[[0]], [0]]}, ValueError, "at most rank 1"),
        ({"record_defaults": [True, 0]}, TypeError, "record default"),
        ({"record_defaults": 3}, TypeError, "Expected list"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        tf.io.decode_csv(**{"records": ["1,2"], "record_defaults": [[0], [1]], **options})
