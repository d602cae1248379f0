"""Input pipelines."""

from situs._src.data import autograph_loop as autograph_loop  # lets AutoGraph know of datasets
from situs._src.data import dataset as dataset  # declares the ops of datasets
from situs._src.data import random_access as random_access  # declares the op that takes one element
from situs._src.data import readers as readers  # declares the ops of readers
from situs._src.data import serializing as serializing  # lets graphs with datasets be written down
