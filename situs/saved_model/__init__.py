"""``tf.saved_model``: programs in files: objects with their variables and functions."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from situs._src.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from situs._src.saved_model.constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from situs._src.saved_model.constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from situs._src.saved_model.constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from situs._src.saved_model.constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from situs._src.saved_model.constants import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from situs._src.saved_model.constants import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from situs._src.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from situs._src.saved_model.constants import GPU as GPU
from situs._src.saved_model.constants import PREDICT_INPUTS as PREDICT_INPUTS
from situs._src.saved_model.constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from situs._src.saved_model.constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from situs._src.saved_model.constants import REGRESS_INPUTS as REGRESS_INPUTS
from situs._src.saved_model.constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from situs._src.saved_model.constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from situs._src.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from situs._src.saved_model.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from situs._src.saved_model.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from situs._src.saved_model.constants import SERVING as SERVING
from situs._src.saved_model.constants import TPU as TPU
from situs._src.saved_model.constants import TRAINING as TRAINING
from situs._src.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from situs._src.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from situs._src.saved_model.files import contains_saved_model as contains_saved_model
from situs._src.saved_model.loading import LoadOptions as LoadOptions
from situs._src.saved_model.loading import load as load
from situs._src.saved_model.saving import SaveOptions as SaveOptions
from situs._src.saved_model.saving import save as save
from situs.saved_model import experimental as experimental
