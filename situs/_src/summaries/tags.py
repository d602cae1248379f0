"""The tags of summaries: names within their scopes.

    with tf.name_scope("train"):
        tf.summary.scalar("loss", x)        train/loss; a second one in a graph, in TensorFlow 1: train/loss_1

In TensorFlow 1 a tag is the name of the operation, and so unique. In TensorFlow 2 it is given by the program.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.context import current_name_scope, name_scope

_logger = logging.getLogger("situs")
_NOT_IN_TAGS = re.compile(r"[^-/\w\.]")
_NOT_IN_SCOPES = re.compile(r"[^A-Za-z0-9_.\\/>-]")


def clean_tag(name: Any) -> str | None:
    """A name with what TensorBoard's tags cannot have replaced, and without slashes before it."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise DTypeError(f"The name of a summary is a string, got {shown(name)}.")
    cleaned = _NOT_IN_TAGS.sub("_", name).lstrip("/")
    if cleaned != name:
        _logger.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


@contextmanager
def graph_scope(name: Any, family: Any, default: str | None = None) -> Iterator[tuple[str, str]]:
    """The tag of a summary of TensorFlow 1 and, while its operation is added, the operation's name.

    Raises:
        ValueError: there is no name.
    """
    cleaned, group = clean_tag(name), clean_tag(family)
    base = cleaned if group is None or cleaned is None else f"{group}/{cleaned}"
    if base is None and default is None:
        raise ArgumentError(f"A summary needs a name, which becomes its tag in TensorBoard; got {name!r}.")
    wanted = default if base is None else base
    with name_scope(wanted) as scope:
        tag = scope.rstrip("/")
        yield (tag if group is None else f"{group}/{tag}"), scope


@export("summary.experimental.summary_scope", v1=())
@contextmanager
def summary_scope(
    name: Any, default_name: str = "summary", values: ArrayLike | None = None
) -> Iterator[tuple[str, str]]:
    """A context for the operations of a summary; gives its tag and the name scope.

    Args:
        name: The name of the summary; the scopes around it stand before it in the tag.
        default_name: The name if there is none.
        values: Accepted for TensorFlow's programs.
    """
    if name is not None and not isinstance(name, str):
        raise DTypeError(f"The name of a summary is a string, got {shown(name)}.")
    name = name or default_name
    around = current_name_scope()
    with name_scope(_NOT_IN_SCOPES.sub("", name) or default_name) as scope:
        yield (f"{around}/{name}" if around else name), scope
