# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same launches through Triton, on objects that hand out an address as PyTorch's tensors do."""

from __future__ import annotations

from collections.abc import Callable

import triton
import triton.language as tl


class Tensor:
    """What Triton's launcher asks of an array."""

    def __init__(self, address: int) -> None:
        self.dtype = "fp32"
        self._address = address

    def data_ptr(self) -> int:
        """The address on the device."""
        return self._address


@triton.jit
def few(a, b, c, alpha, shift):  # type: ignore[no-untyped-def]
    x = tl.load(a) * alpha + tl.load(b) + shift
    tl.store(c, x)


@triton.jit
def many(  # type: ignore[no-untyped-def]
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, y, i0, i1, i2, i3, f0, f1, f2, f3
):
    total = tl.load(x0) * f0 + tl.load(x1) * f1 + tl.load(x2) * f2 + tl.load(x3) * f3
    total += tl.load(x4) + tl.load(x5) + tl.load(x6) + tl.load(x7) + tl.load(x8) + tl.load(x9)
    tl.store(y, total + i0 + i1 + i2 + i3)


def triton_calls() -> dict[str, Callable[[], object]]:
    """Both launches, compiled."""
    a, b, c = (Tensor((1 << 40) + (i << 24)) for i in range(3))
    every = [Tensor((1 << 40) + (i << 24)) for i in range(11)]
    numbers = (2, 3, 4, 5, 1.0, 2.0, 3.0, 4.0)
    one, all_of_them = few[(64,)], many[(64,)]
    one(a, b, c, 2.5, 3)
    all_of_them(*every, *numbers)
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, y = every
    i0, i1, i2, i3, f0, f1, f2, f3 = numbers
    return {
        "triton_5_args_us": lambda: few[(64,)](a, b, c, 2.5, 3),
        "triton_19_args_us": lambda: many[(64,)](
            x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, y, i0, i1, i2, i3, f0, f1, f2, f3
        ),
    }
