# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches whose CTAs wait for one another: what fits the device runs, what does not is refused before it starts."""

import re

import numpy as np
import pytest

import girih as gr
from girih.errors import CompileError, LaunchError


@gr.kernel
def meet(y: gr.Out["N"], n: gr.i32) -> None:
    """Each of n CTAs writes how many have arrived, once all have."""
    arrived = gr.workspace((1,), gr.i32, zero=True)
    Y = y.tiles(1)
    for i in gr.tiles(n, resident=True):
        gr.signal(arrived, 0)
        gr.wait_for(arrived, 0, n)
        Y[i] = arrived.tiles(1)[0]


@pytest.mark.parametrize(
    "option", [{"seed": 1}, {"adversary": "starve-one"}, {"adversary": "ctas-reversed"}], ids=str
)
def test_all_ctas_meet(option) -> None:
    y = gr.zeros(8, gr.i32)
    with gr.emulator.options(**option):
        meet(y, 7)
    assert y.numpy().tolist() == [7] * 7 + [0]


def test_the_largest_launch_is_the_one_that_the_refusal_names() -> None:
    y = gr.zeros(1 << 16, gr.i32)
    with pytest.raises(LaunchError) as error:
        meet(y, 1 << 16)
    found = re.fullmatch(
        "meet: its CTAs wait for one another, so all 65536 must be on the device at once, which holds "
        r"(\d+) of them; launch as many or fewer",
        str(error.value),
    )
    assert found, error.value
    most = int(found[1])
    assert most >= gr.device.multiprocessors()
    meet(y, most)
    assert (y.numpy()[:most] == most).all()
    with pytest.raises(LaunchError, match=f"so all {most + 1} must be"):
        meet(y, most + 1)


def test_a_package_keeps_it(tmp_path) -> None:
    meet.export(tmp_path / "meet.girih", signatures=["i32, i32"])
    package = gr.load(tmp_path / "meet.girih")
    with pytest.raises(LaunchError, match="so all 65536 must be on the device at once"):
        package.meet(np.zeros(1 << 16, np.int32), 1 << 16)


def test_resident_is_a_truth_value() -> None:
    @gr.kernel
    def odd(y: gr.Out["N"]) -> None:
        for i in gr.tiles(y.tiles(128), resident=2):
            y.tiles(128)[i] = gr.zeros((128,))

    with pytest.raises(CompileError, match="resident is True or False"):
        odd.compile(gr.f32)
