"""gr.autotune: what is tried, what is left out and why, what is kept."""

import os
import time

import numpy as np
import pytest

import girih as gr
from girih.cache import kernels
from girih.cache.store import Store
from girih.tune import tuner
from girih.tune.space import configurations
from girih.tune.tuner import Autotuned

X = np.arange(300, dtype=np.float32)


@gr.kernel
def scale(
    x: gr.In["N"], y: gr.Out["N"], factor: gr.f32, *, BLOCK: gr.const = 64, FAULT: gr.const = ""
):
    X, Y = x.tiles(BLOCK), y.tiles(BLOCK)
    for i in gr.tiles(Y):
        if FAULT == "wrong":
            Y[i] = X[i] * factor + 1
        elif FAULT == "race":
            Y[0] = X[i] * factor
        elif FAULT == "endless":
            odd = i * 2 + 1
            while odd != 0:
                odd = odd * 3
            Y[i] = X[i] * factor + odd.to(gr.f32)
        else:
            Y[i] = X[i] * factor


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A cache of the test's own."""
    store = Store(str(tmp_path / "cache"))
    monkeypatch.setattr(kernels, "store", lambda: store)
    return store


def call(tuned, x=X):
    y = np.zeros_like(x)
    tuned(x, y, 2.0)
    return y


def test_the_cheapest_right_answer_wins(store):
    """On the emulated device the one with the fewest instructions: the one with the fewest CTAs."""
    tuned = gr.autotune(space={"BLOCK": [32, 128, 512], "FAULT": [""]}, key=["N"])(scale)
    np.testing.assert_array_equal(call(tuned), 2 * X)
    assert tuned.best(X, X, 2.0) == {"BLOCK": 512, "FAULT": ""}
    rows = tuned.results(X, X, 2.0)
    assert [row.config["BLOCK"] for row in rows] == [32, 128, 512]
    assert all(row.unit == "warp instructions" for row in rows)
    assert rows[0].cost > rows[1].cost > rows[2].cost > 0


def test_what_does_not_work_is_left_out_with_its_reason(store):
    configs = [
        {"BLOCK": 64},
        {"BLOCK": 1 << 20},
        {"BLOCK": 64, "FAULT": "wrong"},
        {"BLOCK": 64, "FAULT": "race"},
        {"BLOCK": 64, "FAULT": "endless"},
    ]
    tuned = gr.autotune(configs, seconds=3)(scale)
    begin = time.monotonic()
    np.testing.assert_array_equal(call(tuned), 2 * X)
    assert time.monotonic() - begin < 60
    fine, large, wrong, race, endless = tuned.results(X, X, 2.0)
    assert fine.cost and not fine.reason
    assert [row.cost for row in (large, wrong, race, endless)] == [None] * 4
    assert "register" in large.reason
    assert wrong.reason == "wrong: output 0 at (0,) is 1, expected 0"
    assert race.reason.startswith("DeviceError")
    assert endless.reason == "not ready after 3 s"
    table = tuned.table(X, X, 2.0)
    assert table.splitlines()[0].split() == ["BLOCK=64", f"{fine.cost:.1f}", "warp", "instructions"]
    assert "BLOCK=64, FAULT=endless  not ready after 3 s" in table


def test_a_reference_says_what_is_right(store):
    configs = [{"FAULT": "wrong"}, {"FAULT": ""}]
    tuned = gr.autotune(configs, reference=lambda x, y, factor, **_: x * factor)(scale)
    np.testing.assert_array_equal(call(tuned), 2 * X)
    assert tuned.best(X, X, 2.0) == {"FAULT": ""}


def test_results_are_kept_and_looked_for_again_only_with_another_key(store, monkeypatch):
    tries = []
    real = Autotuned._try
    monkeypatch.setattr(
        Autotuned, "_try", lambda self, *args: (tries.append(1), real(self, *args))[1]
    )
    make = gr.autotune([{"BLOCK": 32}, {"BLOCK": 64}], key=["N"])
    tuned = make(scale)
    for _ in range(2):
        call(tuned)
    assert len(tries) == 2
    call(make(scale))  # as another process would
    assert len(tries) == 2
    call(tuned, X[:100])
    assert len(tries) == 4
    call(tuned, X.astype(np.float64).astype(np.float32)[:100])
    assert len(tries) == 4
    gr.autotune([{"BLOCK": 32}, {"BLOCK": 128}], key=["N"])(scale).best(X, X, 2.0)
    assert len(tries) == 6


def test_arguments_are_left_as_they_are(store):
    @gr.kernel
    def increment(x: gr.InOut["N"], *, BLOCK: gr.const = 64):
        X = x.tiles(BLOCK)
        for i in gr.tiles(X):
            X[i] = X[i] + 1

    x = gr.asarray(X)
    gr.autotune([{"BLOCK": 32}, {"BLOCK": 64}])(increment)(x)
    np.testing.assert_array_equal(x.numpy(), X + 1)


def test_nothing_that_works_is_an_error_with_the_reasons(store):
    tuned = gr.autotune([{"FAULT": "race"}])(scale)
    with pytest.raises(gr.GirihError) as info:
        call(tuned)
    assert str(info.value).startswith(
        "no configuration of 'scale' works:\n  FAULT=race: DeviceError"
    )


ANNOTATIONS = {"x": gr.In, "BLOCK": gr.const}


def test_a_space_is_all_combinations():
    found = configurations({"A": gr.const, "B": gr.const}, None, {"A": [1, 2], "B": [3, 3]})
    assert found == [{"A": 1, "B": 3}, {"A": 2, "B": 3}]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gr.autotune()(scale), "gr.autotune takes either a list of configurations"),
        (lambda: gr.autotune([])(scale), "gr.autotune has no configuration to try"),
        (
            lambda: gr.autotune([{"factor": 1}])(scale),
            "gr.autotune: 'factor' is no constant of the kernel; expected some of BLOCK, FAULT",
        ),
        (
            lambda: gr.autotune([{"BLOCK": 1}], key=["M"])(scale),
            "gr.autotune: key= names 'M', which kernel 'scale' does not have; expected dimensions (N) or",
        ),
        (
            lambda: gr.autotune([{"BLOCK": 1}])(scale.function),
            "gr.autotune stands above @gr.kernel, found function below it",
        ),
        (
            lambda: gr.autotune([{"BLOCK": 1}])(scale)(X, X, 2.0, BLOCK=3),
            "scale: 'BLOCK' is chosen by gr.autotune; call scale.kernel to choose it yourself",
        ),
    ],
)
def test_mistakes_say_what_is_expected(make, words):
    with pytest.raises(gr.GirihError) as info:
        make()
    assert str(info.value).startswith(words)


def test_a_trial_leaves_nothing_behind(store, tmp_path, monkeypatch):
    monkeypatch.setattr(tuner.tempfile, "tempdir", str(tmp_path))
    call(gr.autotune([{"BLOCK": 64}])(scale))
    assert [name for name in os.listdir(tmp_path) if name.startswith("girih-tune-")] == []
