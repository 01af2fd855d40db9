"""Build the coastline that climanchor ships from the npm package ``world-atlas``.

Natural Earth's 1:110 million land outlines are in the public domain; ``world-atlas`` distributes them as
TopoJSON. To rebuild the file::

    npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
    python tools/build_coastline.py package/land-110m.json climanchor/plotting/data/coastline_110m.json
"""

import json
import sys
from pathlib import Path

import numpy as np

DECIMALS = 2  # about 1 km, well below the 1:110 million generalisation


def decode_arcs(topology: dict) -> list[np.ndarray]:
    """Return every arc as (longitude, latitude) rows in degrees: TopoJSON stores scaled differences."""
    scale = np.array(topology["transform"]["scale"])
    translate = np.array(topology["transform"]["translate"])
    return [np.cumsum(np.array(arc), axis=0) * scale + translate for arc in topology["arcs"]]


def split_at_antimeridian(line: np.ndarray) -> list[np.ndarray]:
    """Cut a line where it jumps across 180°, and end both pieces exactly on the meridian."""
    pieces, start = [], 0
    for i in np.flatnonzero(np.abs(np.diff(line[:, 0])) > 180):
        (lon0, lat0), (lon1, lat1) = line[i], line[i + 1]
        side = np.sign(lon0)
        gap0, gap1 = 180 - abs(lon0), 180 - abs(lon1)
        lat = lat0 if gap0 + gap1 == 0 else lat0 + (lat1 - lat0) * gap0 / (gap0 + gap1)
        pieces.append(np.vstack([line[start : i + 1], [[side * 180, lat]]]))
        line = line.copy()
        line[i] = [-side * 180, lat]
        start = i
    return [*pieces, line[start:]]


def drop_frame(line: np.ndarray) -> list[np.ndarray]:
    """Remove steps along 180° or along a pole: edges of the flat map, not coast."""
    on_edge = (np.abs(np.abs(line[:, 0]) - 180) < 1e-6) | (np.abs(line[:, 1]) > 89.99)
    frame_step = np.flatnonzero(on_edge[1:] & on_edge[:-1])
    return [piece for piece in np.split(line, frame_step + 1) if len(piece) > 1]


def coastline(topology: dict) -> list[list[list[float]]]:
    """Return the coast as a list of lines of [longitude, latitude], none of which crosses 180°."""
    lines = []
    for arc in decode_arcs(topology):
        for piece in split_at_antimeridian(arc):
            lines += [part.round(DECIMALS).tolist() for part in drop_frame(piece)]
    return lines


def main(source: str, target: str) -> None:
    lines = coastline(json.loads(Path(source).read_text()))
    content = {
        "title": "Coastline, 1:110 million",
        "source": "Natural Earth (public domain), from the npm package world-atlas 2.0.2",
        "coordinates": "degrees east and north",
        "lines": lines,
    }
    Path(target).write_text(json.dumps(content, separators=(",", ":")) + "\n")
    print(f"{target}: {len(lines)} lines, {sum(map(len, lines))} points, {Path(target).stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
