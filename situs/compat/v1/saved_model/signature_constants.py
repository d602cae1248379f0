"""``tf.saved_model.signature_constants``: names in signatures."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from situs._src.saved_model.constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from situs._src.saved_model.constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from situs._src.saved_model.constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from situs._src.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from situs._src.saved_model.constants import PREDICT_INPUTS as PREDICT_INPUTS
from situs._src.saved_model.constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from situs._src.saved_model.constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from situs._src.saved_model.constants import REGRESS_INPUTS as REGRESS_INPUTS
from situs._src.saved_model.constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from situs._src.saved_model.constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
