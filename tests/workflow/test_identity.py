"""What tells an input file from what it was."""

import hashlib
import os

import xarray as xr

from climanchor.workflow.identity import checksum, file_identity, tracking_id
from climanchor.workflow.provenance import describe_files


def test_an_edited_file_of_the_same_size_and_tracking_id_is_another_file(tmp_path):
    """Values corrected in place keep size and tracking id: the products made from them must not be reused."""
    path = tmp_path / "tas.nc"
    attributes = {"tracking_id": "hdl:21.14100/abc"}
    identities, sizes = [], []
    for value in (1.0, 2.0):
        xr.Dataset({"tas": ("x", [value] * 50)}, attrs=attributes).to_netcdf(path)
        os.utime(path, ns=(10**18, 10**18 + int(value)))
        identities.append(file_identity(path))
        sizes.append(path.stat().st_size)
    assert sizes[0] == sizes[1]
    assert tracking_id(path) == "hdl:21.14100/abc"
    assert identities[0] != identities[1]


def test_a_missing_file_has_an_identity_so_that_its_return_is_noticed(tmp_path):
    path = tmp_path / "tas.nc"
    before = file_identity(path)
    path.write_bytes(b"here")
    assert before != file_identity(path)


def test_files_are_described_by_tracking_id_or_else_by_checksum(tmp_path):
    """A file without a tracking id, damaged or not, is identified by its bytes."""
    plain, damaged = tmp_path / "a.nc", tmp_path / "b.nc"
    xr.Dataset({"tas": ("x", [1.0])}).to_netcdf(plain)
    damaged.write_bytes(plain.read_bytes()[:100])
    rows = describe_files([plain, damaged])
    assert [row["tracking_id"] for row in rows] == [None, None]
    assert [row["sha256"] for row in rows] == [hashlib.sha256(p.read_bytes()).hexdigest() for p in (plain, damaged)]
    assert checksum(tmp_path / "none.nc") is None
