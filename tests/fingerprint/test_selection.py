"""Selection against brute force, by both spaces, resumed and not."""

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import r2_score

import climanchor as ca
from climanchor.fingerprint import gather, pareto_front, split_models
from climanchor.fingerprint.selection import METRICS, Selection

MODELS = ["A1", "B-2", "C3", "D4"]
GRID = {"gammas": [1, 5, np.inf], "alphas": [1.0, 100.0, 1e4], "ranks": [1, 4, 20, 300]}


@pytest.fixture(scope="module")
def selection(data):
    return ca.select(data, models=MODELS, samples_per_model=60, seed=3, space="samples", **GRID)


def brute_force(evidence, train, validation, gamma, alpha, rank):
    """One candidate from its samples: transform, solve the ridge, cut the rank by a dense decomposition, predict."""
    stack = {k: np.concatenate([getattr(evidence.samples[m], k) for m in train]) for k in ("X", "Y", "A", "weights")}
    w = stack["weights"]
    mean = {k: np.average(stack[k], axis=0, weights=w) for k in ("X", "Y", "A")}
    std = {k: np.sqrt(np.average((stack[k] - mean[k]) ** 2, axis=0, weights=w)) for k in ("X", "Y", "A")}
    X, Y, A = (np.sqrt(w)[:, None] * (stack[k] - mean[k]) / std[k] for k in ("X", "Y", "A"))
    P = A @ np.linalg.pinv(A)
    T = P if np.isinf(gamma) else np.eye(len(w)) + (np.sqrt(gamma) - 1) * P
    X, Y = T @ X, T @ Y
    d = X.shape[1]
    B = np.linalg.solve(X.T @ X + alpha * np.eye(d), X.T @ Y)
    augmented = np.vstack([X @ B, np.sqrt(alpha) * B])
    V = np.linalg.svd(augmented, full_matrices=False)[2][:rank].T
    B = B @ V @ V.T
    held = {
        k: np.concatenate([getattr(evidence.samples[m], k) for m in validation]) for k in ("X", "Y", "A", "weights")
    }
    Xv, Yv = ((held[k] - mean[k]) / std[k] for k in ("X", "Y"))
    E = Yv - Xv @ B
    wv, a = held["weights"], held["A"][:, 0]
    r2 = r2_score(Yv, Xv @ B, sample_weight=wv, multioutput="raw_values")
    cov = [np.cov(E[:, j], a, aweights=wv) for j in range(E.shape[1])]
    r = np.array([c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]) for c in cov])
    return {"r2": r2.mean(), "r2_area": r2 @ evidence.cells.area, "r": r.mean(), "r_abs": np.abs(r).mean(),
            "mse": np.average(E**2, axis=0, weights=wv).mean()}  # fmt: skip


def test_every_score_equals_brute_force(data, selection):
    """Each (split, γ, α, ρ) scored as if it were the only one, from samples, by dense algebra."""
    evidence = gather(data, models=MODELS, samples_per_model=60, seed=3, space="samples")
    s = selection.scores
    for split in range(s.sizes["split"]):
        train = s.model.values[s.training.values[split]]
        validation = s.model.values[~s.training.values[split]]
        for g in s.gamma.values:
            for a in s.alpha.values:
                for k in s["rank"].values:
                    expected = brute_force(evidence, train, validation, g, a, k)
                    got = s[list(METRICS)].sel(split=split, gamma=g, alpha=a, rank=k)
                    for name, value in expected.items():
                        np.testing.assert_allclose(
                            float(got[name]), value, atol=1e-8, err_msg=f"{name} γ={g} α={a} ρ={k}"
                        )


def test_sample_space_and_cell_space_give_the_same_scores(data, selection):
    other = ca.select(data, models=MODELS, samples_per_model=60, seed=3, space="cells", **GRID)
    for name in METRICS:
        np.testing.assert_allclose(other.scores[name], selection.scores[name], atol=1e-8)
    assert other.best() == selection.best()
    assert other.scores.attrs["space"] == "cells"


def test_all_samples_by_moments_equal_all_samples_drawn(data):
    """The blockwise pass over everything and the samples themselves are the same evidence."""
    kwargs = {"models": MODELS, "samples_per_model": None, **GRID}
    by_moments, by_samples = (ca.select(data, space=space, **kwargs) for space in ("cells", "samples"))
    for name in METRICS:
        np.testing.assert_allclose(by_moments.scores[name], by_samples.scores[name], atol=1e-8)


def test_each_distinct_half_is_used_once_and_recorded(selection):
    s = selection.scores
    assert s.sizes["split"] == 6
    assert len({tuple(row) for row in s.training.values.tolist()}) == 6
    assert (s.training.sum("model") == 2).all()
    assert s.attrs["seed"] == 3
    assert s.attrs["standardise"] == 1
    assert set(s.sample_model.values) == set(MODELS)
    assert (s.sample_count == 60).all()


def test_draws_are_distinct_valid_and_do_not_depend_on_the_other_models(data, selection):
    s = selection.scores
    labels = list(zip(s.sample_model.values, s.sample_member.values, s.sample_year.values, strict=True))
    assert len(set(labels)) == len(labels)
    for model, member, year in labels:
        assert np.isfinite(data[model]["div"].sel(member=member, year=year))
    alone = gather(data, models=["C3"], samples_per_model=60, seed=3, space="samples").samples["C3"]
    np.testing.assert_array_equal(alone.year, s.sample_year.values[s.sample_model.values == "C3"])


def test_inert_ranks_are_named_and_tied(selection):
    """Ranks above that of the targets score the same, are flagged, and never beat a smaller one."""
    s = selection.scores
    assert s.inert.sel(rank=300).all()
    assert not s.inert.sel(rank=4).any()
    assert (s.target_rank < 300).all()
    best = selection.best("per_gamma", gamma=5)
    assert best.rank in (1, 4, 20, 300)
    ties = s.r2.mean("split").sel(gamma=best.gamma, alpha=best.alpha)
    assert best.rank == int(ties["rank"][np.argmax(ties.values)])


def test_rules_choose_what_they_say():
    """On a table written by hand the four rules pick four known candidates."""
    r2 = np.array([[[0.5, 0.6]], [[0.55, 0.4]]])  # (gamma, alpha, rank)
    r = np.array([[[-0.4, -0.5]], [[-0.1, 0.05]]])
    scores = xr.Dataset(
        {name: (("split", "gamma", "alpha", "rank"), v[None]) for name, v in
         {"r2": r2, "r2_area": r2, "r": r, "r_abs": np.abs(r), "mse": 1 - r2}.items()},
        coords={"gamma": [1.0, 5.0], "alpha": [10.0], "rank": [2, 4]},
    )  # fmt: skip
    s = Selection(scores)
    assert s.best() == ca.fingerprint.Choice(1.0, 10.0, 4)
    assert s.best("published", gamma=100).gamma == 100
    assert s.best("per_gamma", gamma=5) == ca.fingerprint.Choice(5.0, 10.0, 2)
    assert s.best("weighted", weight=1.0).rank == 4
    assert s.best("weighted", weight=0.0) == ca.fingerprint.Choice(5.0, 10.0, 4)
    assert s.best("pareto") == ca.fingerprint.Choice(5.0, 10.0, 2)
    front = s.pareto()
    assert front.on_front.values.tolist() == [False, True, True, True]
    with pytest.raises(ValueError, match="needs the gamma to choose for"):
        s.best("per_gamma")
    with pytest.raises(ValueError, match=r"gamma=7 is not among the selected gammas \[1.0, 5.0\]"):
        s.best("per_gamma", gamma=7)
    with pytest.raises(ValueError, match="rule must be"):
        s.best("luck")


def test_pareto_front_against_the_definition():
    costs = np.random.default_rng(0).integers(0, 8, size=(60, 2)).astype(float)
    front = pareto_front(costs)
    for i, c in enumerate(costs):
        dominated = any((o <= c).all() and (o < c).any() for o in costs)
        twin = any((costs[j] == c).all() and front[j] for j in range(len(costs)) if j != i)
        assert front[i] == (not dominated and not (twin and not front[i]))


@pytest.mark.parametrize("stop_after", [1, 3, 5])
def test_an_interrupted_selection_resumes_and_gives_the_same_bits(data, selection, tmp_path, stop_after):
    """Killed after some splits, run again: the finished ones are not scored again, and nothing differs."""

    class Killed(BaseException):
        pass

    def kill(done, _):
        if done == stop_after:
            raise Killed

    kwargs = {
        "models": MODELS,
        "samples_per_model": 60,
        "seed": 3,
        "space": "samples",
        "store": tmp_path,
        "workers": 1,
        **GRID,
    }
    with pytest.raises(Killed):
        ca.select(data, progress=kill, **kwargs)
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.glob("*.nc")}
    assert stop_after <= len(before)
    resumed = ca.select(data, **kwargs)
    for name in METRICS:
        np.testing.assert_array_equal(resumed.scores[name].values, selection.scores[name].values)
    assert all((tmp_path / name).stat().st_mtime_ns == t for name, t in before.items())


def test_a_damaged_split_is_scored_again(data, selection, tmp_path):
    kwargs = {"models": MODELS, "samples_per_model": 60, "seed": 3, "space": "samples", "store": tmp_path, **GRID}
    ca.select(data, **kwargs)
    victim = next(tmp_path.glob("*.nc"))
    victim.write_bytes(victim.read_bytes()[:100])
    again = ca.select(data, **kwargs)
    np.testing.assert_array_equal(again.scores.r2.values, selection.scores.r2.values)


def test_other_data_or_settings_do_not_reuse_stored_splits(data, tmp_path):
    kwargs = {"models": MODELS, "samples_per_model": 60, "store": tmp_path, "alphas": [1.0], "ranks": [2]}
    a = ca.select(data, seed=1, **kwargs)
    b = ca.select(data, seed=2, **kwargs)
    assert len(list(tmp_path.glob("*.nc"))) == 12
    assert not np.array_equal(a.scores.r2.values, b.scores.r2.values)


def test_selection_survives_a_file(selection, tmp_path):
    selection.to_netcdf(tmp_path / "s.nc")
    back = Selection.from_netcdf(tmp_path / "s.nc")
    assert back.best() == selection.best()
    xr.testing.assert_equal(back.scores[list(METRICS)], selection.scores[list(METRICS)])


def test_splits():
    """Halves are distinct, families stay together, one-out leaves each out, and the seed decides."""
    models = ["CNRM-CM6-1", "CNRM-ESM2-1", "CESM2", "CCSM4", "IPSL"]
    families = [["CNRM-CM6-1", "CNRM-ESM2-1"], ["CESM2", "CCSM4"]]
    for split in split_models(models, families=families, n_splits=99):
        for family in families:
            assert set(family) <= set(split.train) or set(family) <= set(split.validation)
        assert set(split.train) | set(split.validation) == set(models)
        assert not set(split.train) & set(split.validation)
    assert [s.validation for s in split_models(models, scheme="one")] == [(m,) for m in models]
    many = [f"M{i}" for i in range(30)]
    halves = split_models(many, n_splits=50, seed=4)
    assert len({s.train for s in halves}) == 50
    assert halves == split_models(many, n_splits=50, seed=4)
    assert len({s.train for s in split_models(models[:4], scheme="random", n_splits=40)}) < 40
    with pytest.raises(ValueError, match="at least two models of different families"):
        split_models(models[:2], families=families)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"models": ["A1", "Z9"]}, "no data for model Z9; there are"),
        ({"models": ["A1"]}, "at least two models"),
        ({"alphas": [-1.0]}, "alphas must be finite and not negative"),
        ({"ranks": [0]}, "ranks must be whole numbers of at least 1"),
        ({"ranks": [1.5]}, "ranks must be whole numbers"),
        ({"gammas": [-2]}, r"gamma must be a number in \[0, inf\]"),
        ({"samples_per_model": 1}, "samples_per_model must be at least 2"),
        ({"missing": "fill"}, "missing must be 'mask' or 'raise'"),
        ({"space": "moon"}, "space must be 'auto'"),
        ({"n_splits": 0}, "n_splits must be at least 1"),
    ],
)
def test_wrong_settings_are_named(data, kwargs, message):
    with pytest.raises(ValueError, match=message):
        ca.select(data, **{"models": MODELS, "alphas": [1.0], "ranks": [1], **kwargs})


def test_unprepared_data_are_refused(data):
    bare = xr.DataTree.from_dict({"A": data["A1"].to_dataset().drop_vars("div"), "B": data["C3"].to_dataset()})
    with pytest.raises(ValueError, match="model A has no variable div"):
        ca.select(bare, alphas=[1.0], ranks=[1])
    other = data["C3"].to_dataset().assign_coords(lat=data["C3"].lat + 1)
    with pytest.raises(ValueError, match="model B is on another grid"):
        ca.select(xr.DataTree.from_dict({"A": data["A1"].to_dataset(), "B": other}), alphas=[1.0], ranks=[1])
