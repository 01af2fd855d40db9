"""Worker processes for the jobs of the archive.

A worker is a plain Python process that reads the settings and then the numbers of jobs from its standard input, and
answers each with a line of JSON. It shares nothing with its parent, so that scripts need no ``__main__`` guard and
threads of the parent do no harm.
"""

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

import climanchor
from climanchor.simulate.jobs import execute
from climanchor.simulate.plan import Settings, plan

Wanted = Mapping[int, tuple[str, ...]]


def run_here(settings: Settings, root: Path, wanted: Wanted, done: Callable[[int], None]) -> None:
    """Execute the jobs in this process; ``wanted`` gives the outputs to write by number of job."""
    jobs = plan(settings)
    for number, outputs in wanted.items():
        execute(jobs[number], settings, root, outputs)
        done(number)


def run_in_processes(settings: Settings, root: Path, wanted: Wanted, done: Callable[[int], None], workers: int) -> None:
    """Execute the jobs in worker processes; the first failure stops all and is raised with its job's files."""
    todo, failures, lock = deque(wanted.items()), list[str](), threading.Lock()
    processes = [_start(settings, root) for _ in range(min(workers, len(wanted)))]

    def feed(process: subprocess.Popen[str]) -> None:
        while not failures:
            try:
                number, outputs = todo.popleft()
            except IndexError:
                return
            error = _ask(process, number, outputs)
            with lock:
                if error:
                    failures.append(f"{outputs[0]}: {error}")
                else:
                    done(number)

    threads = [threading.Thread(target=feed, args=(process,)) for process in processes]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        # After a failure or an interruption jobs are left over, and workers may be in the middle of one.
        todo.clear()
        for process, thread in zip(processes, threads, strict=True):
            if failures or thread.is_alive():
                process.kill()
            thread.join()
            process.communicate()
    if failures:
        raise RuntimeError(f"writing the archive failed at {failures[0]}")


def _start(settings: Settings, root: Path) -> subprocess.Popen[str]:
    package = str(Path(climanchor.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    process = subprocess.Popen(
        [sys.executable, "-c", "from climanchor.simulate.workers import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(paths)},
    )
    _send(process, [str(root), settings.to_json()])
    return process


def _ask(process: subprocess.Popen[str], number: int, outputs: tuple[str, ...]) -> str:
    """Have a worker do one job; returns what went wrong, or nothing."""
    try:
        _send(process, [number, list(outputs)])
        answer = process.stdout.readline() if process.stdout else ""
    except BrokenPipeError:
        answer = ""
    if not answer:
        return f"the worker process ended with code {process.wait()}"
    return str(json.loads(answer))


def _send(process: subprocess.Popen[str], message: list[object]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def main() -> None:
    """Serve jobs until the input ends."""
    root, text = json.loads(sys.stdin.readline())
    settings = Settings.from_json(text)
    jobs = plan(settings)
    for line in sys.stdin:
        number, outputs = json.loads(line)
        try:
            execute(jobs[number], settings, Path(root), outputs)
            answer = ""
        except Exception as error:  # whatever it is, the parent raises it
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)
