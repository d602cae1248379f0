"""What goes wrong with messages, beyond `situs.errors`.

    InvalidArgumentError (ValueError)
    ├── FieldError       (AttributeError)   the message has no such field, or the field cannot be used so
    └── ParseError                          the text or JSON does not spell such a message
    NotFoundError        (LookupError)
    └── MissingKeyError  (KeyError)         the map has no such key

A value of the wrong type is a ``DTypeError`` (``TypeError``), one out of range an ``InvalidArgumentError``.
"""

from __future__ import annotations

from situs.errors import InvalidArgumentError, NotFoundError


class FieldError(InvalidArgumentError, AttributeError):
    """The message has no such field, or the field cannot be used in this way.

    Both ``ValueError`` and ``AttributeError``, because programs written for protocol buffers expect the first from
    ``ConfigProto(foo=1)`` and the second from ``config.foo = 1``.
    """


class ParseError(InvalidArgumentError):
    """The text or the JSON does not spell a message of the class it was read into."""


class MissingKeyError(NotFoundError, KeyError):
    """The map has no such key."""
