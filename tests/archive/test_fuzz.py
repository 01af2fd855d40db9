"""Damaged files never end the process, and never cost the good ones.

The work is done in a child process, so that a crash would be a failed test and not the end of the test run.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from climanchor.archive import BadFileError, coverage, find_runs, open_runs
from climanchor.archive.probe import READER

READER.time_limit = 5.0
root, victim, rounds, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
whole = np.frombuffer(victim.read_bytes(), np.uint8)
rng = np.random.default_rng(seed)
for round in range(rounds):
    damaged = whole.copy()
    reach = damaged.size if rng.random() < 0.5 else min(damaged.size, 1500)
    hits = rng.integers(0, reach, rng.integers(1, 9))
    damaged[hits] = rng.integers(0, 256, hits.size)
    if rng.random() < 0.2:
        damaged = damaged[: rng.integers(0, damaged.size)]
    victim.write_bytes(damaged.tobytes())
    tree = open_runs(find_runs(root))
    assert "r1i1p1f1" in tree["CESM2"].member.values
    for member in tree["CESM2"].member.values:
        try:
            values = tree["CESM2"].tas.sel(member=member).values
        except BadFileError as error:
            assert error.path == str(victim)
        else:
            assert member != "r1i1p1f1" or np.isfinite(values).any()
assert len(coverage(find_runs(root))) >= 2
print("survived", rounds)
"""


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_flipped_and_missing_bytes(tmp_path: Path, write: Any, kind: str) -> None:
    write(member="r1i1p1f1", format=kind)
    write(member="r2i1p1f1", format=kind)
    victim = write(member="r3i1p1f1", format=kind, zlib=kind == "NETCDF4")
    script = tmp_path / "fuzz.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(script), str(tmp_path), str(victim), "25", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "survived 25" in done.stdout
