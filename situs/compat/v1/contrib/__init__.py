"""``tf.contrib``: what of it programs use and has a plain equivalent in ``tf``."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib import __getattr__ as __getattr__
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs.compat.v1.contrib import eager as eager
from situs.compat.v1.contrib import framework as framework
from situs.compat.v1.contrib import layers as layers
from situs.compat.v1.contrib import learn as learn
from situs.compat.v1.contrib import legacy_seq2seq as legacy_seq2seq
from situs.compat.v1.contrib import lookup as lookup
from situs.compat.v1.contrib import metrics as metrics
from situs.compat.v1.contrib import rnn as rnn
from situs.compat.v1.contrib import seq2seq as seq2seq
from situs.compat.v1.contrib import slim as slim
from situs.compat.v1.contrib import training as training
from situs.compat.v1.contrib import util as util

_build_graphs(globals())
