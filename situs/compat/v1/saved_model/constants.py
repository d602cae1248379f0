"""``tf.saved_model.constants``: names of files and collections."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from situs._src.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from situs._src.saved_model.constants import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from situs._src.saved_model.constants import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from situs._src.saved_model.constants import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from situs._src.saved_model.constants import MAIN_OP_KEY as MAIN_OP_KEY
from situs._src.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from situs._src.saved_model.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from situs._src.saved_model.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from situs._src.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from situs._src.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
