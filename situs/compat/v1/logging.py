"""``tf.logging``: messages of the program, in one stream with those of Situs."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.logging import DEBUG as DEBUG
from situs._src.v1.logging import ERROR as ERROR
from situs._src.v1.logging import FATAL as FATAL
from situs._src.v1.logging import INFO as INFO
from situs._src.v1.logging import WARN as WARN
from situs._src.v1.logging import TaskLevelStatusMessage as TaskLevelStatusMessage
from situs._src.v1.logging import debug as debug
from situs._src.v1.logging import error as error
from situs._src.v1.logging import fatal as fatal
from situs._src.v1.logging import flush as flush
from situs._src.v1.logging import get_logger as get_logger
from situs._src.v1.logging import get_verbosity as get_verbosity
from situs._src.v1.logging import info as info
from situs._src.v1.logging import log as log
from situs._src.v1.logging import log_every_n as log_every_n
from situs._src.v1.logging import log_first_n as log_first_n
from situs._src.v1.logging import log_if as log_if
from situs._src.v1.logging import set_verbosity as set_verbosity
from situs._src.v1.logging import vlog as vlog
from situs._src.v1.logging import warn as warn
from situs._src.v1.logging import warning as warning

_build_graphs(globals())
