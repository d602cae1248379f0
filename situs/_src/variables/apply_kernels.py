"""The arithmetic of optimizers, on lists of variables: PyTorch's foreach functions.

    adam([var, m, v], grad, room, lr=0.001, beta1=0.9, ...)      each of var, m, v, grad is a list of tensors

A kernel updates its inputs in place. It allocates ``room``, a list of tensors like the variables, before it writes
anything: if that fails, nothing has changed.

A hyperparameter (the learning rate, for example) is a Python number if it is known on the host, and a tensor if it is
on a GPU: reading it would synchronize. PyTorch's fused kernels take both, and go through memory once; they require
contiguous tensors, so there is another implementation for others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from situs._src.runtime.eager.torch_private import (
    foreach_abs_,
    foreach_add_,
    foreach_addcmul_,
    foreach_copy_,
    foreach_div_,
    foreach_maximum_,
    foreach_mul_,
    foreach_reciprocal_,
    foreach_sign_,
    foreach_sqrt_,
    foreach_sub_,
)
from situs._src.variables.many import (
    Number,
    Tensors,
    blend,
    blend_squares,
    divide_by_root,
    fused_adam,
    fused_sgd,
    is_number,
    may_fuse,
    number_of,
    plus,
    shift,
    subtract_scaled,
    times,
)

States = Sequence[Tensors]
Room = Callable[[], Tensors]


# Gradient descent.


def gradient_descent(states: States, grad: Tensors, room: Room, *, alpha: Number) -> None:
    """``var -= alpha grad``."""
    (var,) = states
    if is_number(alpha):
        foreach_add_(var, grad, alpha=-alpha)
    elif may_fuse(alpha, var, grad):
        fused_sgd(var, grad, [], lr=alpha)
    else:
        subtract_scaled(var, grad, alpha, room())


def momentum(
    states: States, grad: Tensors, room: Room, *, lr: Number, momentum: Number, use_nesterov: bool = False
) -> None:
    """``accum = momentum accum + grad; var -= lr accum``."""
    var, accum = states
    if is_number(momentum) and momentum and may_fuse(lr, var, accum, grad):
        fused_sgd(var, grad, accum, lr=lr, momentum=momentum, nesterov=use_nesterov)
        return
    step = room()
    times(accum, momentum)
    foreach_add_(accum, grad)
    if use_nesterov:
        foreach_copy_(step, accum)
        times(step, momentum)
        foreach_add_(step, grad)
        times(step, lr)
        foreach_sub_(var, step)
    else:
        subtract_scaled(var, accum, lr, step)


def keras_momentum(
    states: States, grad: Tensors, room: Room, *, lr: Number, momentum: Number, use_nesterov: bool = False
) -> None:
    """``accum = momentum accum - lr grad; var += accum``: the learning rate is in what is accumulated."""
    var, accum = states
    if not use_nesterov and is_number(lr, momentum) and momentum and may_fuse(lr, var, accum, grad):
        fused_sgd(var, grad, accum, lr=-1.0, momentum=momentum, dampening=1.0 + lr)
        return
    step = room()
    times(accum, momentum)
    subtract_scaled(accum, grad, lr, step)
    if use_nesterov:
        foreach_copy_(step, accum)
        times(step, momentum)
        foreach_add_(var, step)
        subtract_scaled(var, grad, lr, step)
    else:
        foreach_add_(var, accum)


def weight_decay(states: States, decay: Tensors, room: Room, *, lr: Number) -> None:
    """``var -= decay lr var``; `decay` is one scalar for each variable."""
    (var,) = states
    parts = [number_of(each) * lr for each in decay]
    if is_number(*parts) and len(set(parts)) == 1:
        foreach_add_(var, var, alpha=-parts[0])
        return
    for value, part in zip(var, parts, strict=True):
        value.mul_(1 - part)


def moving_average(states: States, value: Tensors, room: Room, *, rate: Number) -> None:
    """``var += rate (value - var)``."""
    (var,) = states
    blend(var, value, rate, var if is_number(rate) else room())


# Adam and its kind.


def adam(
    states: States,
    grad: Tensors,
    room: Room,
    *,
    beta1_power: Number,
    beta2_power: Number,
    lr: Number,
    beta1: Number,
    beta2: Number,
    epsilon: Number,
    use_nesterov: bool = False,
    weight_decay: Number = 0.0,
) -> None:
    """``var -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon)``.

    With a fourth state, the largest v so far is taken instead of v (AMSGrad).
    """
    var, m, v, *largest = states
    alpha = lr * _sqrt(1 - beta2_power) / (1 - beta1_power)
    known = is_number(beta1, beta2, epsilon) and beta1 < 1 and beta2 < 1 and not use_nesterov
    if known and may_fuse(alpha, *states, grad):
        decay = _as_decay(var, lr, alpha, weight_decay)
        fused_adam(states, grad, alpha, beta1, beta2, epsilon, decay)
        return
    step = room()
    _decay(var, lr, weight_decay)
    blend(m, grad, 1 - beta1, step)
    blend_squares(v, grad, 1 - beta2, step)
    if largest:
        foreach_maximum_(largest[0], v)
    if use_nesterov:  # m as it will be after the next step, in two parts
        divide_by_root(var, m, v, step, alpha * beta1, outside=epsilon)
        divide_by_root(var, grad, v, step, alpha * (1 - beta1), outside=epsilon)
    else:
        divide_by_root(var, m, (largest or [v])[0], step, alpha, outside=epsilon)


def _as_decay(var: Tensors, lr: Number, alpha: Number, decay: Number) -> float:
    """Weight decay as PyTorch's kernel takes it, which multiplies it by `alpha`; what it cannot take is done here."""
    if is_number(lr, alpha, decay):
        return float(decay * lr / alpha) if decay * lr else 0.0
    _decay(var, lr, decay)
    return 0.0


def _decay(var: Tensors, lr: Number, decay: Number) -> None:
    if not is_number(decay) or decay:
        times(var, 1 - lr * decay)


def adamax(
    states: States,
    grad: Tensors,
    room: Room,
    *,
    beta1_power: Number,
    lr: Number,
    beta1: Number,
    beta2: Number,
    epsilon: Number,
) -> None:
    """``var -= lr / (1 - beta1^t) m / (v + epsilon)``, with v the largest gradient, which fades."""
    var, m, v = states
    step, alpha = room(), lr / (1 - beta1_power)
    blend(m, grad, 1 - beta1, step)
    times(v, beta2)
    foreach_copy_(step, grad)
    foreach_abs_(step)
    foreach_maximum_(v, step)
    foreach_copy_(step, v)
    plus(step, epsilon)
    foreach_reciprocal_(step)
    foreach_mul_(step, m)
    subtract_scaled(var, step, alpha, step)


def nadam(
    states: States,
    grad: Tensors,
    room: Room,
    *,
    lr: Number,
    beta1: Number,
    beta2: Number,
    epsilon: Number,
    beta2_power: Number,
    now: Number,
    after: Number,
    product: Number,
) -> None:
    """Adam with Nesterov's momentum: `now` and `after` are the momentum of this step and of the next one.

    `product` is the product of those of all steps so far.
    """
    var, m, v = states
    step, scratch = room(), room()
    blend(m, grad, 1 - beta1, step)
    blend_squares(v, grad, 1 - beta2, step)
    foreach_copy_(step, v)
    foreach_div_(step, 1 - beta2_power)
    foreach_sqrt_(step)
    plus(step, epsilon)
    for along, weight in ((m, after / (1 - product * after)), (grad, (1 - now) / (1 - product))):
        foreach_copy_(scratch, along)
        foreach_div_(scratch, step)
        subtract_scaled(var, scratch, weight * lr, scratch)


def lion(states: States, grad: Tensors, room: Room, *, lr: Number, beta1: Number, beta2: Number) -> None:
    """``var -= lr sign(beta1 m + (1 - beta1) grad)``."""
    var, m = states
    step, scratch = room(), room()
    foreach_copy_(step, m)
    blend(step, grad, 1 - beta1, scratch)
    foreach_sign_(step)
    subtract_scaled(var, step, lr, step)
    blend(m, grad, 1 - beta2, step)


# Those that divide by the root of squares that were collected.


def adagrad(
    states: States,
    grad: Tensors,
    room: Room,
    *,
    lr: Number,
    epsilon: Number = 0.0,
    under_root: bool = False,
    update_slots: bool = True,
) -> None:
    """``accum += grad^2; var -= lr grad / (sqrt(accum) + epsilon)``; `under_root` says where epsilon is added."""
    var, accum = states
    step = room()
    if update_slots:
        foreach_addcmul_(accum, grad, grad)
    where = {"inside": epsilon} if under_root else {"outside": epsilon}
    divide_by_root(var, grad, accum, step, lr, **where)


def proximal_descent(states: States, grad: Tensors, room: Room, *, alpha: Number, l1: Number, l2: Number) -> None:
    """A step against the gradient, then towards 0: by `l1` whatever the size, by `l2` in proportion to it."""
    (var,) = states
    foreach_copy_(var, [_pulled(each - alpha * slope, alpha, l1, l2) for each, slope in zip(var, grad, strict=True)])


def proximal_adagrad(states: States, grad: Tensors, room: Room, *, lr: Number, l1: Number, l2: Number) -> None:
    """The same with Adagrad's steps: ``accum += grad^2``, and steps of ``lr / sqrt(accum)``."""
    var, accum = states
    squares = [before + slope * slope for before, slope in zip(accum, grad, strict=True)]
    rates = [lr * each.rsqrt() for each in squares]
    new = [_pulled(v - rate * g, rate, l1, l2) for v, g, rate in zip(var, grad, rates, strict=True)]
    foreach_copy_(var, new)
    foreach_copy_(accum, squares)


def _pulled(value: torch.Tensor, rate: Number, l1: Number, l2: Number) -> torch.Tensor:
    left = (value.abs() - rate * l1).clamp_(min=0)
    return torch.div(value.sign() * left, 1 + rate * l2)


def adadelta(states: States, grad: Tensors, room: Room, *, lr: Number, rho: Number, epsilon: Number) -> None:
    """Steps as long as the root of the mean square of steps, over that of gradients."""
    var, accum, accum_update = states
    step, below = room(), room()
    blend_squares(accum, grad, 1 - rho, step)
    shift(step, accum_update, epsilon)
    shift(below, accum, epsilon)
    foreach_div_(step, below)
    foreach_sqrt_(step)
    foreach_mul_(step, grad)
    blend_squares(accum_update, step, 1 - rho, below)
    subtract_scaled(var, step, lr, step)


def rms_prop(
    states: States, grad: Tensors, room: Room, *, lr: Number, rho: Number, epsilon: Number, momentum: Number = None
) -> None:
    """``ms = rho ms + (1 - rho) grad^2; var -= lr grad / sqrt(ms + epsilon)``, with momentum if it has a state."""
    var, ms, *mom = states
    step = room()
    blend_squares(ms, grad, 1 - rho, step)
    _descend_by_mean_square(var, mom, grad, ms, step, lr, momentum, epsilon)


def centered_rms_prop(
    states: States, grad: Tensors, room: Room, *, lr: Number, rho: Number, epsilon: Number, momentum: Number = None
) -> None:
    """The same with the variance of gradients, ``ms - mg^2``, instead of their mean square."""
    var, mg, ms, *mom = states
    step = room()
    blend_squares(ms, grad, 1 - rho, step)
    blend(mg, grad, 1 - rho, step)
    foreach_copy_(step, ms)
    foreach_addcmul_(step, mg, mg, -1.0)
    _descend_by_mean_square(var, mom, grad, step, step, lr, momentum, epsilon)


def _descend_by_mean_square(
    var: Tensors,
    mom: Sequence[Tensors],
    grad: Tensors,
    square: Tensors,
    step: Tensors,
    lr: Number,
    momentum: Number,
    epsilon: Number,
) -> None:
    if not mom:
        divide_by_root(var, grad, square, step, lr, inside=epsilon)
        return
    times(mom[0], momentum)
    divide_by_root(mom[0], grad, square, step, -1 * lr, inside=epsilon)
    foreach_sub_(var, mom[0])


def ftrl(
    states: States,
    grad: Tensors,
    room: Room,
    *,
    lr: Number,
    l1: Number,
    l2: Number,
    lr_power: Number,
    l2_shrinkage: Number = 0.0,
) -> None:
    """Follow the regularized leader: the sum of gradients, in ``linear``, says where a variable is."""
    new = [
        _ftrl(*each, lr=lr, l1=l1, l2=l2, lr_power=lr_power, l2_shrinkage=l2_shrinkage)
        for each in zip(*states, grad, strict=True)
    ]
    for state, values in zip(states, zip(*new, strict=True), strict=True):
        foreach_copy_(state, list(values))


def _ftrl(
    var: torch.Tensor,
    accum: torch.Tensor,
    linear: torch.Tensor,
    grad: torch.Tensor,
    *,
    lr: Number,
    l1: Number,
    l2: Number,
    lr_power: Number,
    l2_shrinkage: Number,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What a variable, its squares and its sum of gradients become."""
    squares = accum + grad * grad
    before, now = accum.pow(-lr_power), squares.pow(-lr_power)
    sums = linear + grad + 2 * l2_shrinkage * var - (now - before) / lr * var
    over = sums.abs() - l1
    made = (-sums.sign() * over / (now / lr + 2 * l2)).masked_fill_(over <= 0, 0)
    return made, squares, sums


def _sqrt(value: Number) -> Number:
    return value.sqrt() if isinstance(value, torch.Tensor) else max(value, 0.0) ** 0.5
