"""``tf.resource_loader``: files beside the program."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.resource_loader import get_data_files_path as get_data_files_path
from situs._src.v1.resource_loader import get_path_to_datafile as get_path_to_datafile
from situs._src.v1.resource_loader import get_root_dir_with_all_resources as get_root_dir_with_all_resources
from situs._src.v1.resource_loader import load_resource as load_resource

_build_graphs(globals())
