"""Input pipelines."""

from situs._src.data import describing as describing  # lets graphs with datasets be written down
from situs._src.data import loop as loop  # lets AutoGraph know of datasets
