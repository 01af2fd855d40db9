"""How long the two-panel difference map takes, against cartopy's own pcolormesh and contourf hatching.

Both draw the same 36×72 cells and the shipped coastline on two Robinson panels and render them at 300 dpi, in
turn in one process; the best of the rounds counts. The goal is under 3 s after import.
"""

import argparse
import io
import resource
import time

import cartopy.crs as ccrs
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from climanchor import plotting
from climanchor.plotting.cells import cell_paths
from climanchor.plotting.coastline import add_coastline

LAT, LON = np.arange(-87.5, 90, 5), np.arange(2.5, 360, 5)


def made_scores(seed: int) -> xr.Dataset:
    """Scores that vary smoothly over the map."""
    rng = np.random.default_rng(seed)
    wave = np.cos(np.deg2rad(LON * 2 + rng.uniform(0, 360))) * np.cos(np.deg2rad(LAT))[:, None]
    values = {"r2": (("lat", "lon"), 0.5 + 0.2 * wave), "residual_correlation": (("lat", "lon"), -0.3 + 0.2 * wave)}
    return xr.Dataset(values, {"lat": LAT, "lon": LON})


def ours(anchored: xr.Dataset, plain: xr.Dataset) -> None:
    cell_paths.cache_clear()
    plotting.map_difference(anchored, plain).savefig(io.BytesIO(), format="png", dpi=300)


def peer(anchored: xr.Dataset, plain: xr.Dataset) -> None:
    """The same picture with cartopy's functions: wrapped quadrilaterals, and hatching between contour lines."""
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    edges = np.arange(-90, 91, 5), np.arange(0, 361, 5)
    for i, name in enumerate(("r2", "residual_correlation")):
        ax = figure.add_subplot(1, 2, i + 1, projection=ccrs.Robinson())
        difference = (abs(anchored[name]) - abs(plain[name])).values
        mesh = ax.pcolormesh(edges[1], edges[0], difference, cmap="RdBu_r", transform=ccrs.PlateCarree())
        cyclic = np.concatenate([difference, difference[:, :1]], axis=1) > 0
        ax.contourf(np.append(LON, LON[0] + 360), LAT, cyclic, levels=[0.5, 1.5], hatches=["////"], colors="none",
                    transform=ccrs.PlateCarree())  # fmt: skip
        add_coastline(ax)
        figure.colorbar(mesh, ax=ax, orientation="horizontal")
    figure.savefig(io.BytesIO(), format="png", dpi=300)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rounds instead of five")
    rounds = 2 if parser.parse_args().quick else 5
    anchored, plain = made_scores(1), made_scores(2)
    best = dict.fromkeys((ours, peer), np.inf)
    first = None
    for _ in range(rounds):
        for function in best:
            start = time.perf_counter()
            function(anchored, plain)
            elapsed = time.perf_counter() - start
            first = elapsed if first is None else first
            best[function] = min(best[function], elapsed)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"difference map, 36×72 cells, two panels, 300 dpi: first {first:.2f} s, best {best[ours]:.2f} s (goal 3 s)")
    print(f"cartopy's pcolormesh and contourf: {best[peer]:.2f} s; ratio ours/peer {best[ours] / best[peer]:.2f}")
    print(f"peak memory {memory:.0f} MB")


if __name__ == "__main__":
    main()
