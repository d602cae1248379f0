"""Tables: `StaticHashTable` is immutable, `MutableHashTable` is not, `StaticVocabularyTable` hashes unknown words.

Eager code and functions share a table. In a graph of TensorFlow 1 each session has its own, which
``tf.tables_initializer`` fills.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device, here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.checkpoints.resources import TrackableResource
from situs._src.checkpoints.resumable import Resumable
from situs._src.ir.graph.context import init_scope
from situs._src.lookup.initializers import TableInitializerBase
from situs._src.ops import table as ops
from situs._src.ops.array import identity
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import not_equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.gather import where
from situs._src.ops.math import add
from situs._src.ops.placeholder import group
from situs._src.ops.static_value import get_static_value
from situs._src.ops.strings import as_string, to_hash_bucket_fast

_HOST = "/device:CPU:0"


class LookupInterface(TrackableResource):
    """The base of tables.

    Args:
        key_dtype: The dtype of the keys.
        value_dtype: The dtype of the values.
        name: A name for its operations.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any, name: str = "table") -> None:
        super().__init__()
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._name = name
        if self._key_dtype not in ops.KEYS:
            raise DTypeError(f"Invalid key dtype for table: {self._key_dtype.name}.")

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    def size(self, name: str | None = None) -> Any:
        """How many keys there are."""
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys."""
        raise NotImplementedError

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


class _Table(LookupInterface):
    """A table with a store: its own in eager code, one for each session in a graph."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str,
        is_static: bool,
        shared_name: str = "",
        reserved: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(key_dtype, value_dtype, name)
        with init_scope():
            self._default_value = convert_to_tensor(default_value, self._value_dtype)
            shape = self._default_value.shape
            if not shape.is_fully_defined() or (is_static and shape.rank):
                raise ArgumentError(f"A default value has a shape that is known{', []' * is_static}; got {shape}.")
            self._value_shape: tuple[int, ...] = tuple(size for size in shape.as_list() if size is not None)
            self._store: ops.Store | None = None
            if here.graph is None:
                self._store = ops.Store(self._key_dtype, self._value_dtype, self._value_shape, is_static)
                self._store.reserved = frozenset(reserved)
            else:
                with device(_HOST):
                    self._handle = ops.hash_table(
                        shared_name=shared_name,
                        node_name=here.graph.unique_name(name, mark_as_used=False),
                        key_dtype=self._key_dtype,
                        value_dtype=self._value_dtype,
                        value_shape=self._value_shape,
                        is_static=is_static,
                        reserved=reserved,
                        name=name,
                    )

    def _create_resource(self) -> Any:
        return self._store

    @property
    def default_value(self) -> Any:
        """The value of keys that are not there."""
        return self._default_value

    def size(self, name: str | None = None) -> Any:
        """How many keys there are, int64."""
        return self._run(ops.table_size, ops.lookup_table_size, name=name or f"{self._name}_Size")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys; the default value for those that are not there.

        Args:
            keys: The keys: a tensor of any shape, or a sparse or ragged tensor.
            name: A name for the op.

        Raises:
            TypeError: the keys are of another dtype.
        """
        return self._found(keys, self._default_value, name)

    def export(self, name: str | None = None) -> Any:
        """All keys, and their values."""
        more = {} if self._store is not None else {"value_shape": self._value_shape}
        made = self._run(
            ops.table_export,
            ops.lookup_table_export,
            Tkeys=self._key_dtype,
            Tvalues=self._value_dtype,
            name=name or f"{self._name}_Export",
            **more,
        )
        return made[0], made[1]

    def _found(self, keys: Any, default: Any, name: str | None) -> Any:
        if hasattr(keys, "with_flat_values"):
            return keys.with_flat_values(self._found(keys.flat_values, default, name))
        if hasattr(keys, "with_values"):
            return keys.with_values(self._found(keys.values, default, name))
        more = {} if self._store is not None else {"value_shape": self._value_shape}
        given = self._keys(keys)
        return self._run(
            ops.table_find, ops.lookup_table_find, given, default, name=name or f"{self._name}_Find", **more
        )

    def _keys(self, keys: Any) -> Any:
        """Keys as a tensor.

        Raises:
            TypeError: they are of another dtype.
        """
        own = getattr(keys, "dtype", None)
        if own is not None and as_dtype(own) is not self._key_dtype:
            raise DTypeError(f"Dtype of argument `keys` must be {self._key_dtype.name}, received: {as_dtype(own).name}")
        try:
            return convert_to_tensor(keys, self._key_dtype)
        except InvalidArgumentError as error:
            raise DTypeError(f"Argument `keys` must be of {self._key_dtype.name}: {error}") from None

    def _run(self, own: Any, by_handle: Any, *inputs: Any, **attrs: Any) -> Any:
        """Runs one of the operations on the store, on the host."""
        with device(_HOST):
            if self._store is not None:
                return own(*inputs, store=self._store, **attrs)
            return by_handle(self._handle, *inputs, **attrs)

    def _change(self, own: Any, by_handle: Any, *inputs: Any) -> Any:
        """The same for operations without a result; None in eager code."""
        made = self._run(own, by_handle, *inputs)
        return made if here.graph is not None else None


@export("lookup.StaticHashTable", v1=())
class StaticHashTable(_Table):
    """A table that is filled once.

    Args:
        initializer: What fills it.
        default_value: The value of keys that are not there.
        name: A name for it.
        experimental_is_anonymous: Accepted for TensorFlow's programs.

    Example:
        >>> import situs as tf
        >>> content = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(content, default_value=-1)
        >>> table.lookup(tf.constant(["b", "c"])).numpy().tolist()
        [2, -1]
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        _check_initializer(initializer)
        super().__init__(initializer.key_dtype, initializer.value_dtype, default_value, name or "hash_table", True)
        self._initializer = initializer
        with init_scope():
            self._init_op = initializer.initialize(self)

    @property
    def initializer(self) -> Any:
        """The operation that fills it, in a graph; None in eager code, where it is filled already."""
        return self._init_op


@export(v1="lookup.StaticHashTable")
class StaticHashTableV1(StaticHashTable):
    """The same in TensorFlow 1's style, where ``tf.tables_initializer()`` fills it."""


@export("lookup.experimental.MutableHashTable")
class MutableHashTable(_Table, Resumable):
    """A table that changes.

    Args:
        key_dtype: The dtype of the keys.
        value_dtype: The dtype of the values.
        default_value: The value of keys that are not there; all values have its shape.
        name: A name for it.
        checkpoint: Whether checkpoints save what is in it.
        experimental_is_anonymous: Accepted for TensorFlow's programs.

    Example:
        >>> import situs as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
        >>> table.insert(tf.constant(["a"]), tf.constant([7], tf.int64))
        >>> table.lookup(tf.constant(["a", "b"])).numpy().tolist()
        [7, -1]
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
        *,
        reserved: tuple[Any, ...] = (),
    ) -> None:
        self._checkpoint = as_bool(checkpoint, "checkpoint")
        super().__init__(key_dtype, value_dtype, default_value, name, False, reserved=reserved)

    def lookup(  # type: ignore[override]
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Any:
        """The values of keys; for those that are not there the default value, or one for each key.

        Args:
            keys: The keys.
            dynamic_default_values: Values for keys that are not there: one for all, or one for each.
            name: A name for the op.
        """
        default = self._default_value
        if dynamic_default_values is not None:
            default = convert_to_tensor(dynamic_default_values, self._value_dtype)
        return self._found(keys, default, name)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Puts values under keys, instead of what is there.

        Args:
            keys: The keys.
            values: A value for each.
            name: Accepted for TensorFlow's programs.
        """
        given = convert_to_tensor(values, self._value_dtype)
        return self._change(ops.table_insert, ops.lookup_table_insert, self._keys(keys), given)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Takes keys away; those that are not there are ignored."""
        return self._change(ops.table_remove, ops.lookup_table_remove, self._keys(keys))

    erase = remove

    # In checkpoints.

    def _saved_state(self) -> bytes:
        if self._store is None or not self._checkpoint:
            return b""
        return self._store.to_text().encode()

    def _check_state(self, state: bytes) -> None:
        if not state:
            return
        found = ops.Store.from_text(state)
        said = (found.key_dtype, found.value_dtype, found.value_shape)
        if said != (self._key_dtype, self._value_dtype, self._value_shape):
            raise ArgumentError(f"The table {shown(self._name)} has other dtypes than the one that was saved.")

    def _resume(self, state: bytes) -> None:
        if state and self._store is not None:
            self._store.replace(*ops.Store.from_text(state).export())


@export("lookup.experimental.DenseHashTable")
class DenseHashTable(MutableHashTable):
    """A table that changes, in which two keys have a meaning of their own.

    Args:
        key_dtype: The dtype of the keys.
        value_dtype: The dtype of the values.
        default_value: The value of keys that are not there.
        empty_key: A key that is never used.
        deleted_key: Another one.
        initial_num_buckets: Accepted for TensorFlow's programs.
        name: A name for it.
        checkpoint: Whether checkpoints save what is in it.
        experimental_is_anonymous: Accepted for TensorFlow's programs.

    Raises:
        ValueError: the two keys are the same.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        keys = tuple(_plain(key, as_dtype(key_dtype)) for key in (empty_key, deleted_key))
        if keys[0] == keys[1]:
            raise ArgumentError("Empty and deleted keys cannot be equal.")
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint, reserved=keys)


def _plain(key: Any, dtype: DType) -> Any:
    found = get_static_value(convert_to_tensor(key, dtype))
    if found is None or getattr(found, "ndim", False):
        raise ArgumentError(f"The empty_key and the deleted_key are single keys that are known, got {shown(key)}.")
    return found.item() if hasattr(found, "item") else found


@export("lookup.StaticVocabularyTable", v1=())
class StaticVocabularyTable(LookupInterface):
    """A table from words to numbers, with numbers for the words that are not in it as well.

    Args:
        initializer: What fills it: int64 numbers; None to have strange words only.
        num_oov_buckets: How many numbers there are for words that are not in it, after those that are.
        lookup_key_dtype: The dtype of the words, if it is another one than in `initializer`.
        name: A name for it.
        experimental_is_anonymous: Accepted for TensorFlow's programs.

    Raises:
        TypeError: the values of `initializer` are no int64.
        ValueError: there is no bucket.
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if as_int(num_oov_buckets, "num_oov_buckets") <= 0:
            raise ArgumentError(f"`num_oov_buckets` must be > 0; use StaticHashTable for none. Got {num_oov_buckets}.")
        self._num_oov_buckets = num_oov_buckets
        self._table: StaticHashTable | None = None
        if initializer is not None:
            _check_initializer(initializer)
        key = dt.string if initializer is None else as_dtype(initializer.key_dtype)
        if initializer is not None and as_dtype(initializer.value_dtype) is not dt.int64:
            raise DTypeError(f"Invalid `value_dtype`, expected {dt.int64} but got {initializer.value_dtype}.")
        wanted = key if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        if wanted is not dt.string and not wanted.is_integer:
            raise DTypeError(f"Invalid `key_dtype`, expected integer or string but got {wanted.name}.")
        if (wanted is dt.string) != (key is dt.string):
            raise DTypeError(f"Invalid `key_dtype`: {wanted.name} keys are looked up in a table of {key.name}.")
        super().__init__(wanted, dt.int64, name or "static_vocabulary_table")
        if initializer is not None:
            self._table = StaticHashTable(initializer, -1)

    @property
    def initializer(self) -> Any:
        """The operation that fills it, in a graph."""
        if self._table is not None:
            return self._table.initializer
        return group() if here.graph is not None else None

    @property
    def resource_handle(self) -> Any:
        """The handle of the table inside; None if there is none."""
        return None if self._table is None else self._table.resource_handle

    def size(self, name: str | None = None) -> Any:
        """How many numbers there are, with those for strange words."""
        strange = convert_to_tensor(self._num_oov_buckets, dt.int64)
        return identity(strange) if self._table is None else add(self._table.size(), strange)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of words; those that are not in the table get one of the last numbers, by their hash.

        Args:
            keys: The words.
            name: Accepted for TensorFlow's programs.
        """
        if hasattr(keys, "with_flat_values"):
            return keys.with_flat_values(self.lookup(keys.flat_values, name))
        if hasattr(keys, "with_values"):
            return keys.with_values(self.lookup(keys.values, name))
        own = getattr(keys, "dtype", None)
        if own is not None and as_dtype(own) is not self._key_dtype:
            raise DTypeError(f"Dtype of argument `keys` must be {self._key_dtype.name}, received: {as_dtype(own).name}")
        given = convert_to_tensor(keys, self._key_dtype)
        with device(_HOST):
            text = given if given.dtype is dt.string else as_string(given)
            buckets = to_hash_bucket_fast(text, self._num_oov_buckets)
            if self._table is None:
                return buckets
            found = self._table.lookup(cast(given, self._table.key_dtype))
            return where(not_equal(found, self._table.default_value), found, add(buckets, self._table.size()))


@export(v1="lookup.StaticVocabularyTable")
class StaticVocabularyTableV1(StaticVocabularyTable):
    """The same in TensorFlow 1's style, where ``tf.tables_initializer()`` fills it."""


def _check_initializer(initializer: Any) -> None:
    if not isinstance(initializer, TableInitializerBase) and not hasattr(initializer, "initialize"):
        raise DTypeError(
            f"A table is filled by an initializer such as KeyValueTensorInitializer, got {shown(initializer)}."
        )
