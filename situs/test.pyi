# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.testing.case import TestCase as TestCase
from situs._src.testing.case import get_temp_dir as get_temp_dir
from situs._src.testing.case import main as main
from situs._src.testing.questions import gpu_device_name as gpu_device_name
from situs._src.testing.questions import is_built_with_cuda as is_built_with_cuda
from situs._src.testing.questions import is_built_with_gpu_support as is_built_with_gpu_support
from situs._src.testing.questions import is_built_with_rocm as is_built_with_rocm
from situs._src.testing.questions import is_built_with_xla as is_built_with_xla
from situs._src.testing.questions import is_gpu_available as is_gpu_available
