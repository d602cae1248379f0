"""``tf.distributions``: what samples come from, and how likely they are."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.distributions import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from situs._src.v1.distributions import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from situs._src.v1.distributions import Bernoulli as Bernoulli
from situs._src.v1.distributions import Beta as Beta
from situs._src.v1.distributions import Categorical as Categorical
from situs._src.v1.distributions import Dirichlet as Dirichlet
from situs._src.v1.distributions import Distribution as Distribution
from situs._src.v1.distributions import Exponential as Exponential
from situs._src.v1.distributions import Gamma as Gamma
from situs._src.v1.distributions import Laplace as Laplace
from situs._src.v1.distributions import Normal as Normal
from situs._src.v1.distributions import RegisterKL as RegisterKL
from situs._src.v1.distributions import ReparameterizationType as ReparameterizationType
from situs._src.v1.distributions import Uniform as Uniform
from situs._src.v1.distributions import kl_divergence as kl_divergence
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
