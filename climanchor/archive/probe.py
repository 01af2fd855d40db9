"""Headers read in a child process, so that a damaged file cannot take the job down.

The netCDF and HDF5 libraries can crash or loop for ever on a file whose metadata is corrupt. One child process
per session reads the headers; when it dies or falls silent the file in hand is set aside, and the next file
gets a new child.
"""

import atexit
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from threading import Lock, Timer
from time import monotonic
from typing import IO, Any

from climanchor.archive.header import Header, RawGrid, read_header
from climanchor.archive.integrity import BadFileError, check_file

#: Seconds after which a file that does not answer is given up; slow tape or network storage needs this long.
TIME_LIMIT = 120.0
# The child needs netCDF4 and NumPy alone: a bare package in place of this one spares it xarray and dask.
_PROGRAM = """
import sys, types
package = types.ModuleType("climanchor.archive")
package.__path__ = [sys.argv[1]]
sys.modules["climanchor.archive"] = package
from climanchor.archive.probe import serve
serve()
"""
_COMMAND = (sys.executable, "-c", _PROGRAM, os.path.dirname(os.path.abspath(__file__)))
_READY = "ready"


class HeaderReader:
    """Reads headers in a child process that is started at the first request and reused."""

    def __init__(self, *, time_limit: float = TIME_LIMIT, command: Sequence[str] = _COMMAND) -> None:
        self.time_limit = time_limit
        self.command = list(command)
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._known: dict[tuple[str, str, int, int], Header] = {}
        self._grids: dict[bytes, RawGrid] = {}

    def read(self, path: str, name: str) -> Header:
        """The header of variable ``name`` in ``path``; ``BadFileError`` where there is none to be had.

        Headers of files that have not changed since are remembered, and files on one grid share its arrays.
        """
        check_file(path)
        status = os.stat(path)
        key = (path, name, status.st_size, status.st_mtime_ns)
        with self._lock:
            header = self._known.pop(key, None)
            if header is None:
                child = self._running()
                header = read_header(path, name) if child is None else self._ask(child, path, name)
                header = replace(header, grid=self._shared(header.grid))
            self._known[key] = header
            _forget(self._known, 2048)
            return header

    def close(self) -> None:
        """End the child process."""
        child, self._child = self._child, None
        if child is not None and self._owner == os.getpid():
            _end(child)

    def _shared(self, grid: RawGrid) -> RawGrid:
        arrays = (grid.lat, grid.lon, grid.lat_bnds, grid.lon_bnds)
        digest = sha256(grid.kind.encode())
        for array in arrays:
            digest.update(b"-" if array is None else str(array.shape).encode() + array.tobytes())
        known = self._grids.pop(digest.digest(), grid)
        self._grids[digest.digest()] = known
        _forget(self._grids, 64)
        return known

    def _running(self) -> "subprocess.Popen[bytes] | None":
        """The child, started if need be; ``None`` where this system cannot start one."""
        if self._child is None or self._owner != os.getpid() or self._child.poll() is not None:
            self.close()
            self._child = self._start()
            self._owner = os.getpid()
        return self._child

    def _start(self) -> "subprocess.Popen[bytes] | None":
        """A new child that has said it is ready, so that the time it takes to start is not a file's fault."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            child = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # an interrupt is for the job, which then closes this child
            )
        except OSError:
            return None
        try:
            ready = child.stdout is not None and _receive(child.stdout) == _READY
        except EOFError:
            ready = False
        if not ready:
            _end(child)
        return child if ready else None

    def _ask(self, child: "subprocess.Popen[bytes]", path: str, name: str) -> Header:
        assert child.stdin is not None
        assert child.stdout is not None
        guard = Timer(self.time_limit, child.kill)
        guard.start()
        started = monotonic()
        try:
            _send(child.stdin, (path, name))
            answer = _receive(child.stdout)
        except (OSError, EOFError):
            code = child.wait()
            late = monotonic() - started >= self.time_limit
            reason = (
                f"gives no answer for {self.time_limit:g} s when its header is read"
                if late
                else f"makes the netCDF library crash (exit status {code})"
            )
            raise BadFileError(path, reason) from None
        finally:
            guard.cancel()
        if isinstance(answer, Header):
            return answer
        raise BadFileError(path, str(answer))


def serve() -> None:
    """Answer requests on standard input until it ends: a header, or the reason why there is none."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the libraries print must not mix with the answers
    _send(answers, _READY)
    while True:
        try:
            path, name = _receive(requests)
        except EOFError:
            return
        try:
            answer: object = read_header(path, name)
        except BadFileError as error:
            answer = error.reason
        except Exception as error:  # a corrupt file may fail anywhere in the library's Python layer
            answer = f"cannot be read ({type(error).__name__}: {error})"
        _send(answers, answer)


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with suppress(OSError):  # bytes it never took cannot be flushed
                stream.close()


def _forget(known: dict[Any, Any], size: int) -> None:
    """Drop the entry used longest ago once there are more than ``size``."""
    if len(known) > size:
        del known[next(iter(known))]


def _send(stream: IO[bytes], message: object) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    size = stream.read(8)
    if len(size) < 8:
        raise EOFError("the other side has closed")
    data = stream.read(struct.unpack("<Q", size)[0])
    return pickle.loads(data)


#: The reader every part of this package shares.
READER = HeaderReader()
atexit.register(READER.close)
