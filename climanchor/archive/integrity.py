"""Is this a whole netCDF file? Cheap checks before the netCDF library is asked to open it.

A classic file declares in its header where every variable lies, and an HDF5 file where it ends: a file shorter
than that is truncated, though it may open without complaint and fail only when its last values are read.
"""

import struct
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import netCDF4

_HDF5 = b"\x89HDF\r\n\x1a\n"
_CLASSIC_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
_MAX_HEADER_ITEMS = 100_000


class BadFileError(OSError):
    """A file that cannot be used; ``path`` names it and ``reason`` says why."""

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = str(path)
        self.reason = reason

    def __reduce__(self) -> tuple[type["BadFileError"], tuple[str, str]]:
        return type(self), (self.path, self.reason)


@cache
def library_lock() -> AbstractContextManager[Any]:
    """The lock under which the netCDF and HDF5 libraries are called, since they are not thread safe.

    It is xarray's own, where xarray is loaded: both call the same library, and one thread may write through
    xarray while another reads through this package.
    """
    if "xarray" in sys.modules:
        from xarray.backends.netCDF4_ import NETCDF4_PYTHON_LOCK

        shared: AbstractContextManager[Any] = NETCDF4_PYTHON_LOCK
        return shared
    return Lock()


@contextmanager
def open_file(path: str | Path) -> Iterator[Any]:
    """Open a netCDF file for reading after checking that it is whole; ``BadFileError`` where it is not.

    The library's lock is held while the file is open, so do little inside. Values are returned as stored:
    neither masked nor unpacked.
    """
    check_file(path)
    with library_lock():
        try:
            file = netCDF4.Dataset(str(path))
        except (OSError, RuntimeError, ValueError, UnicodeError, KeyError, IndexError, OverflowError) as error:
            raise BadFileError(path, f"cannot be opened as netCDF ({_first_line(error)})") from error
        try:
            file.set_auto_maskandscale(False)
            yield file
        except (OSError, RuntimeError, UnicodeError, AttributeError, OverflowError, MemoryError) as error:
            if isinstance(error, BadFileError):
                raise
            raise BadFileError(path, f"cannot be read ({_first_line(error)})") from error
        finally:
            file.close()


def check_file(path: str | Path) -> None:
    """Raise ``BadFileError`` for a file that is missing, empty, not netCDF, or truncated."""
    try:
        with open(path, "rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            start = stream.read(8)
            if size == 0:
                raise BadFileError(path, "is empty (0 bytes)")
            if start[:3] == b"CDF" and start[3:4] in (b"\x01", b"\x02", b"\x05"):
                needed = classic_size(stream, path)
            elif start == _HDF5:
                needed = hdf5_size(stream)
            else:
                raise BadFileError(path, f"is not netCDF (it begins with {start!r})")
    except BadFileError:
        raise
    except OSError as error:
        raise BadFileError(path, f"cannot be read ({error.strerror or error})") from error
    if size < needed:
        raise BadFileError(path, f"is truncated: {size} bytes of {needed}")


def hdf5_size(stream: BinaryIO) -> int:
    """Size in bytes that the superblock of an HDF5 file declares; 0 where it is of an unknown kind."""
    stream.seek(8)
    head = stream.read(88)
    version = head[0] if head else 0
    # Up to version 1 the sizes of addresses and the group parameters come before the four addresses.
    layout = {0: (5, 16), 1: (5, 20), 2: (1, 4), 3: (1, 4)}.get(version)
    if layout is None:
        return 0
    width_at, addresses = layout
    width = head[width_at] if len(head) > width_at else 8
    end = addresses + 3 * width
    if len(head) < min(end, 88):
        return 8 + end
    return int.from_bytes(head[end - width : end], "little") if width in (4, 8) else 0


def classic_size(stream: BinaryIO, path: str | Path) -> int:
    """Bytes that a classic (CDF-1, -2 or -5) file needs to hold every variable its header declares."""
    try:
        return _ClassicHeader(stream).needed()
    except (struct.error, ValueError, KeyError, OverflowError) as error:
        raise BadFileError(path, f"has a broken or truncated header ({_first_line(error)})") from error


class _ClassicHeader:
    """Walks the header of a classic file: counts, dimensions, attributes, variables and their places."""

    def __init__(self, stream: BinaryIO) -> None:
        self.size = stream.seek(0, 2)
        stream.seek(3)
        self.stream = stream
        self.kind = stream.read(1)[0]
        self.count_format = ">Q" if self.kind == 5 else ">I"
        self.offset_format = ">I" if self.kind == 1 else ">Q"

    def needed(self) -> int:
        streaming = 0xFFFFFFFFFFFFFFFF if self.kind == 5 else 0xFFFFFFFF
        records = self.number(self.count_format)
        dims = [self._dimension() for _ in range(self._list(10))]
        self._attributes()
        variables = [self._variable(dims) for _ in range(self._list(11))]
        ends = [begin + size for begin, size, is_record in variables if not is_record]
        in_records = [(begin, size) for begin, size, is_record in variables if is_record]
        if in_records and records not in (0, streaming):
            padded = [-(-size // 4) * 4 for _, size in in_records]
            step = sum(padded) if len(in_records) > 1 else in_records[0][1]
            ends += [begin + (records - 1) * step + size for begin, size in in_records]
        return max(ends, default=0)

    def number(self, code: str) -> int:
        value: int = struct.unpack(code, self.stream.read(struct.calcsize(code)))[0]
        return value

    def _list(self, tag: int) -> int:
        found, count = self.number(">I"), self.number(self.count_format)
        if (found not in (tag, 0)) or (found == 0 and count) or count > _MAX_HEADER_ITEMS:
            raise ValueError(f"list {tag} is marked {found} with {count} items")
        return count

    def _text(self) -> bytes:
        length = self.number(self.count_format)
        if length > _MAX_HEADER_ITEMS:
            raise ValueError(f"a name of {length} bytes")
        return self._padded(length)[:length]

    def _padded(self, length: int) -> bytes:
        wanted = -(-length // 4) * 4
        if wanted > self.size - self.stream.tell():
            raise ValueError("the header ends early")
        return self.stream.read(wanted)

    def _dimension(self) -> int:
        self._text()
        return self.number(self.count_format)

    def _attributes(self) -> None:
        for _ in range(self._list(12)):
            self._text()
            width = _CLASSIC_SIZES[self.number(">I")]
            self._padded(width * self.number(self.count_format))

    def _variable(self, dims: list[int]) -> tuple[int, int, bool]:
        self._text()
        rank = self.number(self.count_format)
        if rank > 1024:
            raise ValueError(f"a variable of {rank} dimensions")
        ids = [self.number(self.count_format) for _ in range(rank)]
        if any(i >= len(dims) for i in ids):
            raise ValueError("a variable on a dimension that is not declared")
        self._attributes()
        size = _CLASSIC_SIZES[self.number(">I")]
        self.number(self.count_format)  # the declared size, which overflows for large variables
        begin = self.number(self.offset_format)
        is_record = bool(ids) and dims[ids[0]] == 0
        for i in ids[1:] if is_record else ids:
            size *= dims[i]
        return begin, size, is_record


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
