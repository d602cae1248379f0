"""``tf.gfile``: the functions of ``tf.io.gfile`` under the names they had before."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.files.handle import GFile as FastGFile
from situs._src.files.handle import GFile as GFile
from situs._src.files.handle import GFile as Open
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.gfile import Copy as Copy
from situs._src.v1.gfile import DeleteRecursively as DeleteRecursively
from situs._src.v1.gfile import Exists as Exists
from situs._src.v1.gfile import Glob as Glob
from situs._src.v1.gfile import IsDirectory as IsDirectory
from situs._src.v1.gfile import ListDirectory as ListDirectory
from situs._src.v1.gfile import MakeDirs as MakeDirs
from situs._src.v1.gfile import MkDir as MkDir
from situs._src.v1.gfile import Remove as Remove
from situs._src.v1.gfile import Rename as Rename
from situs._src.v1.gfile import Stat as Stat
from situs._src.v1.gfile import Walk as Walk

_build_graphs(globals())
