"""Max and Hardmax on CPU tensors: torch's own kernels, and repairs where the result asks for them.

`torch.maximum` is exact but for the sign of a zero and the bits of a NaN, which depend on where an
element lies. Two scans of the result, while it is in the cache, find what needs repair.
"""

from collections.abc import Sequence
from functools import cache, reduce
from math import inf, nan

import torch
from torch import Tensor

from ..graph.dtypes import DType
from .lowering import FORMATS, Format

GRAIN = 2**15
"""Elements up to which torch works in the calling thread alone."""
PIECE_BYTES = 2**21
"""Bytes of one operand that each thread works on at a time: a few of them fit its cache."""
_LEAST = 5e-324


def flushes_subnormals(size: int) -> bool:
    """Whether a thread that works on `size` elements takes subnormals for 0.

    Each thread has that flag for itself, set by `torch.set_flush_denormal` or by a library built
    with -ffast-math; torch's workers keep the one that their creator had.
    """
    if _LEAST * 1.0 == 0.0:
        return True
    probe = _probe(torch.get_num_threads() if size > GRAIN else 1)
    return int(probe.count_nonzero()) < probe.numel()


@cache
def _probe(threads: int) -> Tensor:
    return torch.ones(threads * GRAIN if threads > 1 else 1, dtype=torch.int32).view(torch.float32)


def max_(arrays: Sequence[Tensor], dtype: DType) -> Tensor:
    """Max of tensors of one shape; the result lies in memory as the first of them."""
    result = torch.empty_like(arrays[0])
    whole = [result, *arrays]
    piece = PIECE_BYTES // result.itemsize
    if result.numel() <= piece:
        _max_into(*whole, form=FORMATS[dtype])
        return result
    order = sorted(range(result.ndim), key=result.stride, reverse=True)
    whole = [x.permute(order) for x in whole]
    try:
        whole = [x.view(-1) for x in whole]
    except RuntimeError:  # they lie differently: cut along the outermost axis
        pass
    rows = max(1, piece * torch.get_num_threads() * len(whole[0]) // result.numel())
    for parts in zip(*[x.split(rows) for x in whole], strict=True):
        _max_into(*parts, form=FORMATS[dtype])
    return result


def _max_into(out: Tensor, first: Tensor, second: Tensor, *others: Tensor, form: Format) -> None:
    torch.maximum(first, second, out=out)
    for other in others:
        torch.maximum(out, other, out=out)
    if not out.numel():
        return
    integer = getattr(torch, form.integer)
    bits = out.view(integer)
    least = bits.min() if bits.itemsize == 8 else bits.amin()  # whichever torch has vector code for
    if least.item() == ~form.magnitude:  # a -0, perhaps for a +0
        signs = reduce(torch.bitwise_and, [x.view(integer) for x in (first, second, *others)])
        bits &= signs | form.magnitude  # the maximum is negative only where all operands are
    total = out.sum().item()
    if total != total:  # a NaN, or infinities of both signs
        out.nan_to_num_(nan, inf, -inf)  # writes the canonical NaN


def hardmax(array: Tensor, axis: int) -> Tensor:
    """Hardmax of a tensor that is not empty."""
    # Both give the first of several maxima or NaNs. `max` is faster, but wakes the workers for
    # small tensors too, and they have not been asked about subnormals.
    small = array.numel() <= GRAIN
    index = array.argmax(axis, True) if small else array.max(axis, True).indices
    return torch.zeros_like(array).scatter_(axis, index, 1.0)
