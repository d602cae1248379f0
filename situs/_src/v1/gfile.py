"""``tf.gfile``: the functions of ``tf.io.gfile`` under their older names.

MakeDirs             tf.io.gfile.makedirs
DeleteRecursively    tf.io.gfile.rmtree
"""
# ruff: noqa: N802 - TensorFlow's names

from __future__ import annotations

from collections.abc import Iterator as _Iterator
from typing import Any as _Any

from situs._src.base.export import export
from situs._src.files import tree as _tree
from situs._src.files.handle import GFile as GFile


@export(v1="gfile.Exists", as_is=True)
def Exists(filename: _Any) -> bool:
    """Whether there is a file or folder of this name."""
    return _tree.exists(filename)


@export(v1="gfile.IsDirectory", as_is=True)
def IsDirectory(dirname: _Any) -> bool:
    """Whether this is a folder."""
    return _tree.isdir(dirname)


@export(v1="gfile.Stat", as_is=True)
def Stat(filename: _Any) -> _tree.FileStatistics:
    """Size, time of the last change and kind of a file."""
    return _tree.stat(filename)


@export(v1="gfile.ListDirectory", as_is=True)
def ListDirectory(dirname: _Any) -> list[str]:
    """The names in a folder, sorted."""
    return _tree.listdir(dirname)


@export(v1="gfile.Glob", as_is=True)
def Glob(filename: _Any) -> list[str]:
    """The paths that fit a pattern, or one of several."""
    return _tree.glob(filename)


@export(v1="gfile.Walk", as_is=True)
def Walk(top: _Any, in_order: bool = True) -> _Iterator[tuple[str, list[str], list[str]]]:
    """Goes through a tree of folders; with `in_order` a folder comes before those in it."""
    return _tree.walk(top, in_order)


@export(v1="gfile.MkDir", as_is=True)
def MkDir(dirname: _Any) -> None:
    """Makes a folder in one that exists."""
    _tree.mkdir(dirname)


@export(v1="gfile.MakeDirs", as_is=True)
def MakeDirs(dirname: _Any) -> None:
    """Makes a folder and those above it."""
    _tree.makedirs(dirname)


@export(v1="gfile.Remove", as_is=True)
def Remove(filename: _Any) -> None:
    """Deletes a file."""
    _tree.remove(filename)


@export(v1="gfile.DeleteRecursively", as_is=True)
def DeleteRecursively(dirname: _Any) -> None:
    """Deletes a folder with all that is in it, or a file."""
    _tree.rmtree(dirname)


@export(v1="gfile.Copy", as_is=True)
def Copy(oldpath: _Any, newpath: _Any, overwrite: bool = False) -> None:
    """Copies a file; one that is there already only with `overwrite`."""
    _tree.copy(oldpath, newpath, overwrite)


@export(v1="gfile.Rename", as_is=True)
def Rename(oldname: _Any, newname: _Any, overwrite: bool = False) -> None:
    """Gives a file or folder another name; one that is taken only with `overwrite`."""
    _tree.rename(oldname, newname, overwrite)
