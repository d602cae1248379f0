"""``tf.experimental``: what may still change."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.data.optional import Optional as Optional
from situs._src.ragged.partition import RowPartition as RowPartition
from situs._src.ragged.shape import DynamicRaggedShape as DynamicRaggedShape
from situs._src.tracing.api_dispatch import dispatch_for_api as dispatch_for_api
from situs._src.tracing.api_dispatch import dispatch_for_binary_elementwise_apis as dispatch_for_binary_elementwise_apis
from situs._src.tracing.api_dispatch import (
    dispatch_for_binary_elementwise_assert_apis as dispatch_for_binary_elementwise_assert_apis,
)
from situs._src.tracing.api_dispatch import dispatch_for_unary_elementwise_apis as dispatch_for_unary_elementwise_apis
from situs._src.tracing.api_dispatch import unregister_dispatch_for as unregister_dispatch_for
from situs._src.tracing.extension_type import BatchableExtensionType as BatchableExtensionType
from situs._src.tracing.extension_type import ExtensionType as ExtensionType
from situs._src.tracing.extension_type import ExtensionTypeSpec as ExtensionTypeSpec
from situs.experimental import dlpack as dlpack
from situs.experimental import extension_type as extension_type
from situs.experimental import numpy as numpy
