"""The product store: reuse, damage, atomicity and keys."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest

from climanchor.workflow.progress import Reporter
from climanchor.workflow.session import Session, StepFailed
from climanchor.workflow.store import MANIFEST, Product, Step, Store, write_atomically


def writer(text: str, calls: list[str] | None = None):
    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        before = "".join(p.file("out.txt").read_text() for p in inputs.values())
        (folder / "out.txt").write_text(before + text)
        if calls is not None:
            calls.append(text)

    return build


def session(tmp_path: Path) -> Session:
    return Session(Store(tmp_path), Reporter(quiet=True))


def chain(calls: list[str], *, middle: int = 1) -> Step:
    first = Step("first", writer("a", calls), {"x": 1})
    second = Step("second", writer("b", calls), {"x": middle}, {"first": first})
    return Step("third", writer("c", calls), {}, {"second": second})


def test_inputs_are_made_first_and_everything_once(tmp_path):
    calls: list[str] = []
    product = session(tmp_path).make(chain(calls))
    assert product.file("out.txt").read_text() == "abc"
    assert calls == ["a", "b", "c"]


def test_a_second_run_redoes_nothing(tmp_path):
    session(tmp_path).make(chain([]))
    calls: list[str] = []
    again = session(tmp_path)
    again.make(chain(calls))
    assert calls == []
    assert [s.name for s in again.reused] == ["first", "second", "third"]


def test_an_edited_parameter_redoes_only_what_depends_on_it(tmp_path):
    session(tmp_path).make(chain([]))
    calls: list[str] = []
    session(tmp_path).make(chain(calls, middle=2))
    assert calls == ["b", "c"]


def test_going_back_to_an_earlier_parameter_finds_the_earlier_product(tmp_path):
    session(tmp_path).make(chain([], middle=1))
    session(tmp_path).make(chain([], middle=2))
    calls: list[str] = []
    session(tmp_path).make(chain(calls, middle=1))
    assert calls == []


def test_changed_code_changes_the_key(monkeypatch):
    one = Step("s", writer("a"), code=("kernels",)).key
    monkeypatch.setattr("climanchor.workflow.store.code_version", lambda *parts: "another")
    assert Step("s", writer("a"), code=("kernels",)).key != one


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)


def spoil_manifest(path: Path) -> None:
    path.with_name(MANIFEST).write_text('{"files": ')


def remove_manifest(path: Path) -> None:
    path.with_name(MANIFEST).unlink()


@pytest.mark.parametrize("harm", [truncate, flip_a_bit, Path.unlink, spoil_manifest, remove_manifest])
def test_a_damaged_product_is_noticed_and_made_again(tmp_path, harm):
    step = Step("s", writer("content"))
    harm(session(tmp_path).make(step).file("out.txt"))
    calls: list[str] = []
    product = session(tmp_path).make(Step("s", writer("content", calls)))
    assert calls == ["content"]
    assert product.file("out.txt").read_text() == "content"


def test_a_step_that_fails_leaves_no_product_and_keeps_the_earlier_ones(tmp_path):
    def fail(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        (folder / "half.txt").write_text("half")
        raise ValueError("no such member r9")

    first = Step("first", writer("a"))
    with pytest.raises(StepFailed, match=r"second failed: ValueError: no such member r9"):
        session(tmp_path).make(Step("second", fail, {}, {"first": first}))
    store = Store(tmp_path)
    assert store.find(first) is not None
    assert store.find(Step("second", fail, {}, {"first": first})) is None


def test_scratch_survives_a_failure_and_goes_when_the_step_is_done(tmp_path):
    seen: list[list[str]] = []

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        seen.append([p.name for p in scratch.iterdir()])
        (scratch / "split-0").write_text("done")
        if len(seen) == 1:
            raise OSError("disk full")
        (folder / "out.txt").write_text("x")

    with pytest.raises(StepFailed, match="disk full"):
        session(tmp_path).make(Step("s", build))
    session(tmp_path).make(Step("s", build))
    assert seen == [[], ["split-0"]]
    assert list((tmp_path / "partial").iterdir()) == []


def test_warnings_are_kept_with_the_product_and_told_again_on_reuse(tmp_path):
    def warn(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        warnings.warn("ranks above 42 are inert", UserWarning, stacklevel=2)
        (folder / "out.txt").write_text("x")

    first = session(tmp_path)
    first.make(Step("s", warn))
    again = session(tmp_path)
    again.make(Step("s", warn))
    assert first.warnings() == again.warnings() == ["s: ranks above 42 are inert"]
    assert again.made == []


def test_prune_removes_what_the_plan_does_not_use(tmp_path):
    store = Store(tmp_path)
    kept = store.make(Step("s", writer("a"), {"x": 1}), {})
    store.make(Step("s", writer("a"), {"x": 2}), {})
    store.prune({kept.folder.name})
    assert [p.name for p in tmp_path.iterdir()] == [kept.folder.name]


def test_a_product_killed_half_way_is_not_there(tmp_path):
    """SIGKILL inside a build leaves nothing that could be mistaken for the product."""
    script = textwrap.dedent(
        f"""
        import os, signal
        from pathlib import Path
        from climanchor.workflow.store import Step, Store
        def build(folder, inputs, scratch):
            (folder / "out.txt").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
        Store(Path({str(tmp_path)!r})).make(Step("s", build), {{}})
        """
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    assert list(tmp_path.glob(".building-*"))
    Store(tmp_path).sweep()
    assert not list(tmp_path.glob(".building-*"))
    step = Step("s", writer("whole"))
    assert Store(tmp_path).find(step) is None
    assert session(tmp_path).make(step).file("out.txt").read_text() == "whole"


def test_the_manifest_says_what_the_product_was_made_from(tmp_path):
    product = session(tmp_path).make(chain([]))
    manifest = json.loads((product.folder / MANIFEST).read_text())
    assert manifest["step"] == "third"
    assert list(manifest["inputs"]) == ["second"]
    assert manifest["files"]["out.txt"]["bytes"] == 3


def test_an_absent_file_of_a_product_is_named(tmp_path):
    product = session(tmp_path).make(Step("s", writer("a")))
    with pytest.raises(FileNotFoundError, match=r"has no file x\.nc, only out\.txt"):
        product.file("x.nc")


def test_write_atomically_leaves_no_temporary_file(tmp_path):
    write_atomically(tmp_path / "a.txt", "one")
    write_atomically(tmp_path / "a.txt", "two")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "two"
