"""``tf.io.gfile``."""

from situs.files.handle import GFile as GFile
from situs.files.paths import get_registered_schemes as get_registered_schemes
from situs.files.paths import join as join
from situs.files.tree import copy as copy
from situs.files.tree import exists as exists
from situs.files.tree import glob as glob
from situs.files.tree import isdir as isdir
from situs.files.tree import listdir as listdir
from situs.files.tree import makedirs as makedirs
from situs.files.tree import mkdir as mkdir
from situs.files.tree import remove as remove
from situs.files.tree import rename as rename
from situs.files.tree import rmtree as rmtree
from situs.files.tree import stat as stat
from situs.files.tree import walk as walk
