"""Operators made of operators: products, Kronecker products, blocks, updates of low rank, adjoints, inverses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops import decompose, diagonal, linalg
from situs._src.ops.array import broadcast_dynamic_shape, broadcast_to, matrix_transpose, reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, ones_like, zeros
from situs._src.ops.join import concat, stack
from situs._src.ops.join import split as split_tensor
from situs._src.ops.linear_operator import LinearOperator, LinearOperatorDiag, LinearOperatorIdentity
from situs._src.ops.math import conj


def _all(operators: Sequence[LinearOperator], hint: str) -> bool | None:
    return True if all(getattr(each, hint) for each in operators) else None


def _checked(operators: Any, what: str) -> list[LinearOperator]:
    if not isinstance(operators, (list, tuple)):
        raise DTypeError(f"{what}: expected a list of operators, got {shown(operators)}.")
    made = [_operator(each, what) for each in operators]
    if not made:
        raise ArgumentError(f"{what}: expected a non-empty list of operators.")
    if len({each.dtype for each in made}) > 1:
        raise DTypeError(f"{what}: expected all operators to have one dtype, got {[each.dtype.name for each in made]}.")
    return made


def _operator(value: Any, what: str) -> LinearOperator:
    """An operator.

    Raises:
        TypeError: the value is none.
    """
    if not isinstance(value, LinearOperator):
        raise DTypeError(f"{what}: expected a tf.linalg.LinearOperator, got {shown(value)}.")
    return value


class _OfSeveral(LinearOperator):
    """What operators made of a list of operators have in common."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = _checked(operators, type(self).__name__)
        self._check()
        if is_non_singular is None:
            is_non_singular = self._hint("is_non_singular")
        if is_self_adjoint is None:
            is_self_adjoint = self._hint("is_self_adjoint")
        if is_positive_definite is None:
            is_positive_definite = self._hint("is_positive_definite")
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        default = "_o_".join(each.name for each in self._operators)
        super().__init__(self._operators[0].dtype, None, *hints, name=name or default)

    def _check(self) -> None:
        """Raises an error if the operators do not fit together."""

    def _hint(self, hint: str) -> bool | None:
        return _all(self._operators, hint)

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators."""
        return self._operators

    def _batch(self) -> TensorShape:
        return reduce(broadcast, [each.batch_shape for each in self._operators])

    def _batch_tensor(self) -> Tensor:
        return reduce(broadcast_dynamic_shape, [each.batch_shape_tensor() for each in self._operators])

    def _over_batch(self, x: Tensor) -> Tensor:
        """Determinants and such, of the whole batch."""
        return broadcast_to(x, self._batch_tensor())


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(_OfSeveral):
    """The product of operators: the last one acts first.

    Args:
        operators: The operators.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Whether it is square.
        name: A name.
    """

    def _check(self) -> None:
        for one, other in zip(self._operators, self._operators[1:], strict=False):
            one._check_fits(one.domain_dimension, other.range_dimension)

    def _hint(self, hint: str) -> bool | None:
        return _all(self._operators, hint) if hint == "is_non_singular" or len(self._operators) == 1 else None

    def _shape(self) -> TensorShape:
        first, last = self._operators[0], self._operators[-1]
        return self._batch().concatenate([first.range_dimension, last.domain_dimension])

    def _shape_tensor(self) -> Tensor:
        ends = [self._operators[0].range_dimension_tensor(), self._operators[-1].domain_dimension_tensor()]
        return concat([self._batch_tensor(), stack(ends)], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        for each in self._operators if adjoint else self._operators[::-1]:
            x, adjoint_arg = each.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg), False
        return x

    def _to_dense(self) -> Tensor:
        return reduce(linalg.matmul, [each.to_dense() for each in self._operators])

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if not all(each.is_square for each in self._operators):
            return super()._solve(rhs, adjoint, adjoint_arg)
        for each in self._operators[::-1] if adjoint else self._operators:
            rhs, adjoint_arg = each.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg), False
        return rhs

    def _determinant(self) -> Tensor:
        if not all(each.is_square for each in self._operators):
            return super()._determinant()
        return self._over_batch(reduce(lambda a, b: a * b, [each.determinant() for each in self._operators]))

    def _log_abs_determinant(self) -> Tensor:
        if not all(each.is_square for each in self._operators):
            return super()._log_abs_determinant()
        return self._over_batch(reduce(lambda a, b: a + b, [each.log_abs_determinant() for each in self._operators]))

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorComposition([each.adjoint() for each in self._operators[::-1]], self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        if not all(each.is_square for each in self._operators):
            return LinearOperatorInversion(self)
        return LinearOperatorComposition([each.inverse() for each in self._operators[::-1]], True)


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(_OfSeveral):
    """The Kronecker product of operators.

    Args:
        operators: The operators.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Whether it is square.
        name: A name.
    """

    def _size(self, side: str) -> int | None:
        sizes = [getattr(each, side) for each in self._operators]
        return None if None in sizes else reduce(lambda a, b: a * b, sizes)

    def _shape(self) -> TensorShape:
        return self._batch().concatenate([self._size("range_dimension"), self._size("domain_dimension")])

    def _shape_tensor(self) -> Tensor:
        ends = reduce(lambda a, b: a * b, [each.shape_tensor()[-2:] for each in self._operators])
        return concat([self._batch_tensor(), ends], 0)

    def _to_dense(self) -> Tensor:
        def product(a: Tensor, b: Tensor) -> Tensor:
            apart = a[..., :, None, :, None] * b[..., None, :, None, :]
            sizes = shape_of(apart)
            ends = stack([sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]])
            return reshape(apart, concat([sizes[:-4], ends], 0))

        made = reduce(product, [each.to_dense() for each in self._operators])
        return broadcast_to(made, self.shape_tensor())

    def _along(self, x: Tensor, act: Any) -> Tensor:
        """Lets each operator act along its own part of the rows."""
        count = shape_of(x)[-1]
        for each in self._operators:  # its rows come first, and go behind the others
            batch, rows = shape_of(x)[:-2], shape_of(x)[-2]
            size = act(each, None)
            apart = reshape(x, concat([batch, stack([size, (rows // size) * count])], 0))
            made = act(each, apart)
            sizes = shape_of(made)
            made = reshape(made, concat([sizes[:-1], stack([rows // size, count])], 0))
            turned = matrix_transpose(reshape(made, concat([sizes[:-2], stack([sizes[-2], sizes[-1]])], 0)))
            together = reshape(turned, concat([sizes[:-2], stack([rows // size, count, sizes[-2]])], 0))
            moved = matrix_transpose(together)
            x = reshape(moved, concat([sizes[:-2], stack([(rows // size) * sizes[-2], count])], 0))
        return x

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        def act(each: LinearOperator, part: Tensor | None) -> Any:
            if part is None:
                return each.range_dimension_tensor() if adjoint else each.domain_dimension_tensor()
            return each.matmul(part, adjoint=adjoint)

        return self._along(linalg.adjoint(x) if adjoint_arg else x, act)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if not all(each.is_square for each in self._operators):
            return super()._solve(rhs, adjoint, adjoint_arg)

        def act(each: LinearOperator, part: Tensor | None) -> Any:
            return each.range_dimension_tensor() if part is None else each.solve(part, adjoint=adjoint)

        return self._along(linalg.adjoint(rhs) if adjoint_arg else rhs, act)

    def _determinant(self) -> Tensor:
        whole = self.domain_dimension_tensor()
        parts = [
            each.determinant() ** cast(whole // each.domain_dimension_tensor(), self.dtype) for each in self._operators
        ]
        return self._over_batch(reduce(lambda a, b: a * b, parts))

    def _log_abs_determinant(self) -> Tensor:
        whole = self.domain_dimension_tensor()
        logs = [each.log_abs_determinant() for each in self._operators]
        sizes = [cast(whole // each.domain_dimension_tensor(), logs[0].dtype) for each in self._operators]
        return self._over_batch(reduce(lambda a, b: a + b, [a * b for a, b in zip(logs, sizes, strict=True)]))

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorKronecker([each.adjoint() for each in self._operators], self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorKronecker([each.inverse() for each in self._operators], True, self.is_self_adjoint)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorKronecker([each.cholesky() for each in self._operators], True)


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(_OfSeveral):
    """Operators along the diagonal of a matrix that has zeros elsewhere.

    Args:
        operators: The operators.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Must not be off where the operators are square.
        name: A name.
    """

    def _sum(self, side: str) -> int | None:
        sizes = [getattr(each, side) for each in self._operators]
        return None if None in sizes else sum(sizes)

    def _shape(self) -> TensorShape:
        return self._batch().concatenate([self._sum("range_dimension"), self._sum("domain_dimension")])

    def _shape_tensor(self) -> Tensor:
        ends = reduce(lambda a, b: a + b, [each.shape_tensor()[-2:] for each in self._operators])
        return concat([self._batch_tensor(), ends], 0)

    def _parts(self, x: Tensor, columns: bool) -> list[Tensor]:
        sizes: list[Any] = [each.domain_dimension if columns else each.range_dimension for each in self._operators]
        if None in sizes:
            kind = "domain_dimension_tensor" if columns else "range_dimension_tensor"
            sizes = [getattr(each, kind)() for each in self._operators]
        return split_tensor(x, sizes, axis=-2)

    def _joined(self, parts: list[Tensor], axis: int = -2) -> Tensor:
        batches = [shape_of(part)[:-2] for part in parts]
        batch = reduce(broadcast_dynamic_shape, batches)
        return concat([broadcast_to(part, concat([batch, shape_of(part)[-2:]], 0)) for part in parts], axis)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._parts(linalg.adjoint(x) if adjoint_arg else x, not adjoint)
        pairs = zip(self._operators, parts, strict=True)
        return self._joined([each.matmul(part, adjoint=adjoint) for each, part in pairs])

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._parts(linalg.adjoint(rhs) if adjoint_arg else rhs, adjoint)
        pairs = zip(self._operators, parts, strict=True)
        return self._joined([each.solve(part, adjoint=adjoint) for each, part in pairs])

    def _to_dense(self) -> Tensor:
        batch, rows, before = self._batch_tensor(), [], convert_to_tensor(0)
        columns = reduce(lambda a, b: a + b, [each.domain_dimension_tensor() for each in self._operators])
        for each in self._operators:
            high, wide = each.range_dimension_tensor(), each.domain_dimension_tensor()
            own = broadcast_to(each.to_dense(), concat([batch, stack([high, wide])], 0))
            left = zeros(concat([batch, stack([high, before])], 0), self.dtype)
            right = zeros(concat([batch, stack([high, columns - before - wide])], 0), self.dtype)
            rows.append(concat([left, own, right], -1))
            before = before + wide
        return concat(rows, -2)

    def _diag_part(self) -> Tensor:
        if not all(each.is_square for each in self._operators):
            return super()._diag_part()
        parts = [each.diag_part()[..., None] for each in self._operators]
        return self._joined(parts)[..., 0]

    def _determinant(self) -> Tensor:
        return self._over_batch(reduce(lambda a, b: a * b, [each.determinant() for each in self._operators]))

    def _log_abs_determinant(self) -> Tensor:
        return self._over_batch(reduce(lambda a, b: a + b, [each.log_abs_determinant() for each in self._operators]))

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorBlockDiag([each.adjoint() for each in self._operators], self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorBlockDiag([each.inverse() for each in self._operators], True, self.is_self_adjoint)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorBlockDiag([each.cholesky() for each in self._operators], True)


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """An operator with a product of two narrow matrices added to it: ``L + U D V^H``.

    Args:
        base_operator: L.
        u: U, with as many rows as L.
        diag_update: The diagonal of D; ones by default.
        v: V; U by default.
        is_diag_update_positive: Whether D is positive.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Whether it is square.
        name: A name.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: ArrayLike,
        diag_update: ArrayLike | None = None,
        v: ArrayLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        self._base = _operator(base_operator, type(self).__name__)
        self._u = base_operator._converted(u)
        self._v = self._u if v is None else base_operator._converted(v)
        self._has_diag = diag_update is not None
        ranks = ones_like(self._u[..., 0, :]) if diag_update is None else base_operator._converted(diag_update)
        self._d = LinearOperatorDiag(ranks, is_positive_definite=is_diag_update_positive or not self._has_diag or None)
        self._is_positive_update = is_diag_update_positive or not self._has_diag
        if v is None and base_operator.is_self_adjoint and self._is_positive_update:
            is_self_adjoint = True if is_self_adjoint is None else is_self_adjoint
            if base_operator.is_positive_definite and is_positive_definite is None:
                is_positive_definite = True
        self._is_symmetric = v is None
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(base_operator.dtype, None, *hints, name=name)

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base

    @property
    def u(self) -> Tensor:
        """U."""
        return self._u

    @property
    def v(self) -> Tensor:
        """V."""
        return self._v

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of D, if one was given."""
        return self._d.diag if self._has_diag else None

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        return self._d

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether D is positive, as far as that is known."""
        return self._is_positive_update or None

    def _shape(self) -> TensorShape:
        batch = reduce(broadcast, [self._base.batch_shape, self._u.shape[:-2], self._v.shape[:-2]])
        return batch.concatenate(self._base.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        parts = [self._base.batch_shape_tensor(), shape_of(self._u)[:-2], shape_of(self._v)[:-2]]
        return concat([reduce(broadcast_dynamic_shape, parts), self._base.shape_tensor()[-2:]], 0)

    def _to_dense(self) -> Tensor:
        return self._base.to_dense() + linalg.matmul(self._u, self._d.matmul(linalg.adjoint(self._v)))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        given = linalg.adjoint(x) if adjoint_arg else x
        inner = linalg.matmul(v, given, adjoint_a=True)
        return self._base.matmul(given, adjoint=adjoint) + linalg.matmul(u, self._d.matmul(inner, adjoint=adjoint))  # type: ignore[no-any-return]

    def _capacitance(self) -> Tensor:
        """``D^-1 + V^H L^-1 U``: as small as the update is narrow."""
        inner = linalg.matmul(self._v, self._base.solve(self._u), adjoint_a=True)
        return inner + diagonal.diag(1 / self._d.diag)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        """By the Woodbury identity."""
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base.solve(linalg.adjoint(rhs) if adjoint_arg else rhs, adjoint=adjoint)
        small, inner = self._capacitance(), linalg.matmul(v, first, adjoint_a=True)
        batch = broadcast_dynamic_shape(shape_of(small)[:-2], shape_of(inner)[:-2])
        small, inner = (broadcast_to(x, concat([batch, shape_of(x)[-2:]], 0)) for x in (small, inner))
        part = decompose.solve(small, inner, adjoint=adjoint)
        return first - self._base.solve(linalg.matmul(u, part), adjoint=adjoint)  # type: ignore[no-any-return]

    def _determinant(self) -> Tensor:
        return decompose.det(self._capacitance()) * self._d.determinant() * self._base.determinant()

    def _log_abs_determinant(self) -> Tensor:
        small = decompose.slogdet(self._capacitance()).log_abs_determinant
        return small + self._d.log_abs_determinant() + self._base.log_abs_determinant()


class _OfOne(LinearOperator):
    """What operators made of one operator have in common."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = _operator(operator, type(self).__name__)
        if is_non_singular is None:
            is_non_singular = operator.is_non_singular
        if is_self_adjoint is None:
            is_self_adjoint = operator.is_self_adjoint
        if is_positive_definite is None:
            is_positive_definite = operator.is_positive_definite
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square or operator.is_square)
        super().__init__(operator.dtype, None, *hints, name=name or operator.name + self._suffix)

    _suffix = ""

    @property
    def operator(self) -> LinearOperator:
        """The operator that it is made of."""
        return self._operator

    def _shape(self) -> TensorShape:
        shape = self._operator.shape
        return shape if shape.rank is None else shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Tensor:
        sizes = self._operator.shape_tensor()
        return concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(_OfOne):
    """The adjoint of an operator.

    Args:
        operator: The operator.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Whether it is square.
        name: A name.
    """

    _suffix = "_adjoint"

    def _adjoint(self) -> LinearOperator:
        return self._operator

    def _to_dense(self) -> Tensor:
        return linalg.adjoint(self._operator.to_dense())

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return conj(self._operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant()

    def _diag_part(self) -> Tensor:
        return conj(self._operator.diag_part())


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(_OfOne):
    """The inverse of an operator.

    Args:
        operator: The operator.
        is_non_singular: Must not be off.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Whether it is square.
        name: A name.
    """

    _suffix = "_inv"

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if is_non_singular is False or _operator(operator, type(self).__name__).is_non_singular is False:
            raise ArgumentError("operator and supplied hints must have `is_non_singular` equal to `True` or `None`.")
        super().__init__(operator, True, is_self_adjoint, is_positive_definite, is_square, name)

    def _inverse(self) -> LinearOperator:
        return self._operator

    def _to_dense(self) -> Tensor:
        size = self._operator.range_dimension_tensor()
        return self._operator.solve(LinearOperatorIdentity(size, dtype=self.dtype).to_dense())  # type: ignore[no-any-return]

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)  # type: ignore[no-any-return]

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)  # type: ignore[no-any-return]

    def _determinant(self) -> Tensor:
        return 1 / self._operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1 * self._operator.log_abs_determinant()
