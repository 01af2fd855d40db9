"""One run at a time in one folder.

The lock is a file that says who holds it. A holder on this machine is alive if its process is; a holder on
another machine (a shared file system) is alive as long as it touches the lock every few seconds. The lock of a
dead holder is taken over, so a killed run never blocks the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

BEAT = 10.0
#: A holder on another machine that has not touched its lock for so many seconds is taken for dead.
PATIENCE = 120.0


class FolderInUse(RuntimeError):
    """Another run holds the folder."""


class FolderLock:
    """``with FolderLock(folder): …``; raises :class:`FolderInUse` when another run is at work there.

    ``name`` is what the message calls the folder.
    """

    def __init__(self, folder: Path, *, name: Path | None = None) -> None:
        self.name = name or folder
        self.path = folder / "lock"
        self._guard = folder / ".lock-guard"
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._me: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._me = {"host": socket.gethostname(), "pid": os.getpid(), "began": _process_start(os.getpid())}
        with _exclusive(self._guard):
            if not self._create():
                holder = self._holder()
                if holder is not None and self._alive(holder):
                    raise FolderInUse(self._busy(holder))
                self.path.unlink(missing_ok=True)
                if not self._create():
                    raise FolderInUse(self._busy(self._holder() or {}))
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._holder() == self._me:
            self.path.unlink(missing_ok=True)

    def _create(self) -> bool:
        """Write the lock under another name and link it into place: a lock is never seen half-written."""
        draft = self.path.with_name(f".lock-{self._me['host']}-{self._me['pid']}")
        draft.write_text(json.dumps(self._me), encoding="utf-8")
        try:
            os.link(draft, self.path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            with contextlib.suppress(FileExistsError), self.path.open("x", encoding="utf-8") as file:
                file.write(json.dumps(self._me))
                return True
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _holder(self) -> dict[str, Any] | None:
        try:
            holder = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return holder if isinstance(holder, dict) and {"host", "pid", "began"} <= set(holder) else None

    def _alive(self, holder: dict[str, Any]) -> bool:
        if holder["host"] == socket.gethostname():
            return holder["began"] is not None and _process_start(int(holder["pid"])) == holder["began"]
        self._guard.touch()  # this file system's clock, not ours
        with contextlib.suppress(OSError):
            return self._guard.stat().st_mtime - self.path.stat().st_mtime < PATIENCE
        return False

    def _busy(self, holder: dict[str, Any]) -> str:
        who = f"process {holder.get('pid', '?')} on {holder.get('host', 'another machine')}"
        return (
            f"{self.name} is in use by another run ({who}): wait for it, or choose another folder. "
            f"If you are sure that it is dead, remove {self.path}"
        )

    def _beat(self) -> None:
        while not self._stop.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(self.path)


def _process_start(pid: int) -> str | None:
    """When process ``pid`` of this machine began (which tells a reused id apart), or None if there is none."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19]
    if Path("/proc/self").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "running"


@contextlib.contextmanager
def _exclusive(path: Path, *, wait: float = 30.0) -> Iterator[None]:
    """Hold ``path`` against other processes while a lock is examined; where that is not possible, go on."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    with path.open("a") as file:
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
            except OSError:
                break  # the file system has no flock; taking the lock itself is still atomic
        yield
