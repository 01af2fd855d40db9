"""One run at a time in one folder, and dead runs never block."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from climanchor.workflow.lock import PATIENCE, FolderInUse, FolderLock


def hold(folder, seconds=60):
    """Another process that holds the lock of ``folder``."""
    script = (
        "import sys, time, pathlib; from climanchor.workflow.lock import FolderLock\n"
        f"with FolderLock(pathlib.Path({str(folder)!r})): print('held', flush=True); time.sleep({seconds})"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "held"
    return process


def test_the_lock_is_released_at_the_end(tmp_path):
    for _ in range(2):
        with FolderLock(tmp_path):
            assert (tmp_path / "lock").exists()
    assert not (tmp_path / "lock").exists()


def test_the_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(ValueError, match="inside"), FolderLock(tmp_path):
        raise ValueError("inside")
    assert not (tmp_path / "lock").exists()


def test_a_second_run_is_told_who_holds_the_folder_and_a_dead_holder_is_replaced(tmp_path):
    process = hold(tmp_path)
    try:
        with pytest.raises(FolderInUse, match=f"in use by another run .process {process.pid} on"), FolderLock(tmp_path):
            pass
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert (tmp_path / "lock").exists()  # SIGKILL leaves it behind
    with FolderLock(tmp_path):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


def write_lock(folder, **changes):
    lock = folder / "lock"
    lock.write_text(json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "began": "0", **changes}))
    return lock


def test_a_process_id_used_again_by_another_process_does_not_hold_the_lock(tmp_path):
    write_lock(tmp_path, began="12345")
    with FolderLock(tmp_path):
        pass


def test_a_holder_on_another_machine_is_believed_while_it_touches_the_lock(tmp_path):
    write_lock(tmp_path, host="node17")
    with pytest.raises(FolderInUse, match="on node17"), FolderLock(tmp_path):
        pass


def test_a_silent_holder_on_another_machine_is_taken_for_dead(tmp_path):
    lock = write_lock(tmp_path, host="node17")
    long_ago = time.time() - 2 * PATIENCE
    os.utime(lock, (long_ago, long_ago))
    with FolderLock(tmp_path):
        pass


def test_a_half_written_lock_is_replaced(tmp_path):
    (tmp_path / "lock").write_text('{"host"')
    with FolderLock(tmp_path):
        pass
