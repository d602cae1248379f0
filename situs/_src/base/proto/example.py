"""``tf.train.Example``: a record of named lists, as in TFRecord files.

    Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[3]))}))

Their bytes are compatible with TensorFlow's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from situs._src.base.export import export_all
from situs._src.base.proto.own import message_classes

if TYPE_CHECKING:
    BytesList = FloatList = Int64List = Feature = Features = Example = FeatureList = FeatureLists = Any
    SequenceExample = Any
else:
    (
        BytesList,
        FloatList,
        Int64List,
        Feature,
        Features,
        Example,
        FeatureList,
        FeatureLists,
        SequenceExample,
    ) = message_classes(
        __name__,
        {
            "BytesList": ("Any number of strings of bytes.", {"value": (1, "bytes*")}),
            "FloatList": ("Any number of floats.", {"value": (1, "float*")}),
            "Int64List": ("Any number of integers.", {"value": (1, "int64*")}),
            "Feature": (
                "One of the three lists.",
                {
                    "bytes_list": (1, "BytesList", "kind"),
                    "float_list": (2, "FloatList", "kind"),
                    "int64_list": (3, "Int64List", "kind"),
                },
            ),
            "Features": ("Lists by name.", {"feature": (1, "map<string, Feature>")}),
            "Example": ("A record.", {"features": (1, "Features")}),
            "FeatureList": (
                "Any number of lists, such as one for each step of a sequence.",
                {"feature": (1, "Feature*")},
            ),
            "FeatureLists": ("Lists of lists by name.", {"feature_list": (1, "map<string, FeatureList>")}),
            "SequenceExample": (
                "A record with sequences in it.",
                {"context": (1, "Features"), "feature_lists": (2, "FeatureLists")},
            ),
        },
    )

export_all("train", "BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features")
export_all("train", "FloatList", "Int64List", "SequenceExample")
