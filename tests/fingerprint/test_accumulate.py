"""The pass over the data: once, in blocks, on any scheduler, and also when a worker dies."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import pytest
import xarray as xr

import climanchor as ca
from climanchor.fingerprint import gather
from climanchor.fingerprint.accumulate import model_moments
from climanchor.fingerprint.cells import common_cells, model_datasets
from climanchor.kernels import Moments


def watched(ds, watch):
    """The dataset, lazy by member, with a field that shows every block to ``watch`` when it is computed."""

    def look(block):
        if block.size:
            watch(block)
        return block

    lazy = ds.chunk(member=1)
    blocks = lazy["field"].data.map_blocks(look, dtype="f4", meta=np.empty((0,) * 4, "f4"))
    return lazy.assign(field=lazy["field"].copy(data=blocks))


@pytest.mark.parametrize("space", ["samples", "cells"])
def test_every_block_is_read_once_whatever_is_selected(data, space):
    """Six splits, three γ, three α, two ranks: each member's field is computed exactly once."""
    log = []
    lazy = {name: watched(node.to_dataset(), log.append) for name, node in data.children.items()}
    assert not log
    grid = {"gammas": [1, 5, 100], "alphas": [1, 10, 100], "ranks": [1, 2]}
    ca.select(lazy, n_splits=6, samples_per_model=None, space=space, **grid)
    members = sum(node.sizes["member"] for node in data.children.values())
    assert len(log) == members


def test_moments_by_block_equal_moments_of_the_samples(data, monkeypatch):
    """Blocks of one member, shared targets summed first: the same sums to 1e-10."""
    monkeypatch.setattr("climanchor.fingerprint.accumulate.BLOCK_SAMPLES", 40)
    cells = common_cells(model_datasets(data, None))
    for name, result in model_moments(data, cells, weight_per_model=1.0).items():
        ds = data[name].to_dataset()
        valid = ds["div"].notnull().values
        X = ds["field"].values[valid].reshape(valid.sum(), -1)
        Y = np.broadcast_to(ds["forced"].values, ds["field"].shape)[valid].reshape(valid.sum(), -1)
        expected = Moments.from_samples(X, Y, ds["div"].values[valid]).weighing(1.0)
        for k in ("x_mean", "y_mean", "a_mean", "xx", "xy", "xa", "yy", "ya", "aa"):
            np.testing.assert_allclose(getattr(result.moments, k), getattr(expected, k), atol=1e-10, err_msg=k)
        assert result.moments.count == valid.sum()


def test_blas_threads_do_not_multiply(data):
    """While the pass runs, BLAS has one thread under each dask thread."""
    from threadpoolctl import threadpool_info

    seen = []

    def look(_):
        seen.extend(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")

    ds = watched(data["A1"].to_dataset(), look)
    gather({"A1": ds}, samples_per_model=None, space="cells")
    assert seen
    assert set(seen) == {1}


@pytest.mark.slow
def test_a_cluster_gives_the_same_and_survives_a_dying_worker(data, tmp_path):
    """A LocalCluster agrees with threads to 1e-10, also when one worker is killed in the middle of the pass."""
    from distributed import Client, LocalCluster

    kwargs = {"samples_per_model": None, "space": "cells"}
    with dask.config.set(scheduler="threads"):
        expected = gather(data, **kwargs)
    flag = tmp_path / "killed"

    def end_the_first_worker(_):
        """The first worker to get here ends itself, by its own process id."""
        try:
            flag.touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster,
        Client(cluster),
    ):
        calm = gather(data, **kwargs)
        lazy = {n: watched(node.to_dataset(), end_the_first_worker) for n, node in data.children.items()}
        survived = gather(lazy, **kwargs)
    assert flag.exists()
    for other in (calm, survived):
        for name, m in expected.moments.items():
            np.testing.assert_allclose(other.moments[name].moments.xx, m.moments.xx, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(other.moments[name].moments.xy, m.moments.xy, rtol=1e-10, atol=1e-10)


def test_selection_is_the_same_from_many_threads_at_once(data):
    """The same selection from four threads gives the same bits: no hidden shared state."""

    def once(_):
        return ca.select(data, alphas=[1.0, 10.0], ranks=[2], n_splits=3, samples_per_model=30).scores.r2.values

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(once, range(4)))
    for r in results[1:]:
        np.testing.assert_array_equal(r, results[0])


def test_a_common_mask_is_reported_and_used_by_every_model(data):
    """One missing cell in one model is left out of all, with a warning and an attribute."""
    holed = {n: node.to_dataset() for n, node in data.children.items()}
    hole = xr.ones_like(holed["C3"]["field"][0, 0], dtype=bool)
    hole[0, 0] = False
    holed["C3"] = holed["C3"].assign(field=holed["C3"]["field"].where(hole))
    for space in ("samples", "cells"):
        with pytest.warns(UserWarning, match=r"1 of 48 cells have missing values, first at \(lat, lon\) \(-75, 22.5\)"):
            s = ca.select(holed, alphas=[1.0], ranks=[2], samples_per_model=None, space=space)
        assert s.scores.attrs["cells_masked"] == 1
        assert s.scores.attrs["cells_used"] == 47
