"""``tf.placement``: plans of the dynamic placer, and what operations cost."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.config.costs import profile as profile
from situs._src.placement.search.conflict import InfeasibleError as InfeasibleError
from situs._src.placement.search.plan import Plan as Plan
from situs._src.placement.search.plan import compare as compare
from situs._src.placement.search.plan import load as load_plan
from situs._src.placement.search.plan import plan_of as plan_of
from situs._src.placement.search.problem import Device as Device
from situs._src.placement.search.problem import Link as Link
from situs._src.placement.search.problem import Node as Node
from situs._src.placement.search.problem import Problem as Problem
from situs._src.placement.search.problem import Tensor as Tensor
from situs._src.placement.search.search import search as search
from situs._src.placement.search.simulate import Simulation as Simulation
from situs._src.placement.search.simulate import simulate as simulate
