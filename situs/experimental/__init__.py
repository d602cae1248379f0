"""``tf.experimental``: what may still change."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.data.optional import Optional as Optional
from situs._src.ragged.partition import RowPartition as RowPartition
from situs._src.ragged.shape import DynamicRaggedShape as DynamicRaggedShape
from situs._src.tracing.extension_type import BatchableExtensionType as BatchableExtensionType
from situs._src.tracing.extension_type import ExtensionType as ExtensionType
from situs.experimental import dlpack as dlpack
from situs.experimental import numpy as numpy
