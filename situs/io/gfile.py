"""``tf.io.gfile``: files and folders."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.files.handle import GFile as GFile
from situs._src.files.paths import get_registered_schemes as get_registered_schemes
from situs._src.files.paths import join as join
from situs._src.files.tree import copy as copy
from situs._src.files.tree import exists as exists
from situs._src.files.tree import glob as glob
from situs._src.files.tree import isdir as isdir
from situs._src.files.tree import listdir as listdir
from situs._src.files.tree import makedirs as makedirs
from situs._src.files.tree import mkdir as mkdir
from situs._src.files.tree import remove as remove
from situs._src.files.tree import rename as rename
from situs._src.files.tree import rmtree as rmtree
from situs._src.files.tree import stat as stat
from situs._src.files.tree import walk as walk
