"""Build the land map of the synthetic archive from Natural Earth (public domain), by the npm package world-atlas.

``npm pack world-atlas && tar xf world-atlas-*.tgz && python tools/build_land.py package/land-110m.json``
writes ``climanchor/simulate/data/land_1deg.txt``: one line per degree of latitude from south to north, one
digit per degree of longitude from 0° E eastwards, the digit being the land fraction in ninths (0 sea, 9 land).
"""

import json
import sys
from pathlib import Path

import numpy as np
import shapely

OUTPUT = Path(__file__).parent.parent / "climanchor/simulate/data/land_1deg.txt"
SUBSAMPLES = 6


def decode(topology: dict) -> shapely.Geometry:
    """Union of a TopoJSON topology's polygons: arcs are delta-coded integers, ``~i`` is arc i reversed."""
    scale, translate = (np.array(topology["transform"][k]) for k in ("scale", "translate"))
    arcs = [np.cumsum(arc, axis=0) * scale + translate for arc in topology["arcs"]]

    def ring(indices: list[int]) -> np.ndarray:
        points = np.concatenate([arcs[i] if i >= 0 else arcs[~i][::-1] for i in indices])
        lon = np.unwrap(points[:, 0], period=360)  # a ring may cross 180°
        if abs(lon[-1] - lon[0]) > 180:  # Antarctica goes round the pole, and encloses it
            return np.vstack([np.column_stack([lon, points[:, 1]]), [[lon[-1], -90], [lon[0], -90]]])
        return np.column_stack([lon, points[:, 1]])

    geometries = topology["objects"]["land"]["geometries"]
    polygons = [part for g in geometries for part in (g["arcs"] if g["type"] == "MultiPolygon" else [g["arcs"]])]
    shapes = [shapely.Polygon(ring(p[0]), [ring(hole) for hole in p[1:]]) for p in polygons]
    return shapely.union_all([shapely.make_valid(shape) for shape in shapes])


def main(path: str) -> None:
    land = decode(json.loads(Path(path).read_text()))
    shapely.prepare(land)
    offsets = (np.arange(360 * SUBSAMPLES) + 0.5) / SUBSAMPLES
    lat = offsets[: 180 * SUBSAMPLES] - 90
    turns = [np.meshgrid(offsets + turn, lat) for turn in (-720, -360, 0, 360)]
    inside = np.any([shapely.contains_xy(land, *points) for points in turns], axis=0)
    share = inside.reshape(180, SUBSAMPLES, 360, SUBSAMPLES).mean(axis=(1, 3))
    rows = ("".join(str(v) for v in row) for row in np.round(9 * share).astype(int))
    OUTPUT.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
