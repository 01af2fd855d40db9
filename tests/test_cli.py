"""The command line: what each command prints, and the exit code of each way it can end."""

import os
import re
import signal
import subprocess
import sys

import pytest
import yaml

from climanchor import __version__
from climanchor.cli import DONE, FAILED, NO_CLUSTER, NO_DATA, TERMINATED, WRONG, main, parser

RECIPE = "title: T\nroot: .\ndatasets: {train: [CESM2, CCSM4]}\nselection: {}\n"


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "study.yml"
    path.write_text(RECIPE)
    return path


def test_recipes_are_listed_with_their_titles(capsys):
    assert main(["recipes", "list"]) == DONE
    out = capsys.readouterr().out
    assert re.search(r"^demo +Robust fingerprints on a synthetic archive$", out, re.MULTILINE)
    assert re.search(r"^climate +Robust fingerprints", out, re.MULTILINE)
    assert "slurm.sbatch" in out


def test_a_recipe_is_shown_as_it_is_written(capsys):
    assert main(["recipes", "show", "climate"]) == DONE
    out = capsys.readouterr().out
    assert out.startswith("# The climate experiment of the paper")
    assert yaml.safe_load(out)["gammas"] == [1, 5, 100]


def test_a_recipe_is_copied_to_be_edited_but_never_over_another(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["recipes", "get", "demo"]) == DONE
    assert (tmp_path / "demo.yml").read_text().startswith("# The main job of the paper")
    assert main(["recipes", "get", "demo"]) == WRONG
    assert "demo.yml exists already" in capsys.readouterr().err
    assert main(["recipes", "get", "demo", "mine.yml"]) == DONE
    assert (tmp_path / "mine.yml").exists()


def test_a_batch_script_can_be_copied_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["recipes", "get", "slurm.sbatch"]) == DONE
    assert (tmp_path / "slurm.sbatch").read_text().startswith("#!")


def test_an_unknown_recipe_is_wrong(capsys):
    assert main(["run", "demmo"]) == WRONG
    assert "did you mean demo?" in capsys.readouterr().err


def test_a_wrong_recipe_is_refused_before_anything_is_written(tmp_path, capsys):
    path = tmp_path / "study.yml"
    path.write_text(RECIPE + "gama: 1\n")
    assert main(["run", str(path), "--output", str(tmp_path / "out")]) == WRONG
    assert "gama is not a key of a climate recipe: did you mean gammas?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unknown_profile_is_refused_before_anything_is_written(recipe, tmp_path, capsys):
    assert main(["run", str(recipe), "--output", str(tmp_path / "out"), "--dask", "thread"]) == WRONG
    assert "--dask thread is not a profile: did you mean threads?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_does_not_answer_has_its_own_code(recipe, tmp_path, capsys, monkeypatch):
    class Silent:
        def __init__(self, *args, **kwargs):
            raise TimeoutError("no answer")

    monkeypatch.setattr("distributed.Client", Silent)
    arguments = ["run", str(recipe), "--output", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:1", "--quiet"]
    assert main(arguments) == NO_CLUSTER
    assert "no dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err


def test_a_folder_without_data_has_its_own_code(recipe, tmp_path, capsys):
    assert main(["run", str(recipe), "--output", str(tmp_path / "out"), "--quiet"]) == NO_DATA
    assert "climanchor data check" in capsys.readouterr().err


def test_a_step_that_fails_has_its_own_code(tmp_path, capsys, monkeypatch):
    """What the step said is on the last line, and the lock is gone."""
    from climanchor.workflow import climate

    def fail(*args):
        raise ValueError("no space left")

    monkeypatch.setattr(climate.products, "archive", lambda *args: fail)
    path = tmp_path / "study.yml"
    path.write_text(RECIPE.replace("root: .", "simulate: {size: tiny}"))
    assert main(["run", str(path), "--output", str(tmp_path / "out"), "--quiet"]) == FAILED
    assert "synthetic archive (tiny) failed: ValueError: no space left" in capsys.readouterr().err
    assert not (tmp_path / "out" / "run" / "lock").exists()


def test_data_check_of_nothing(tmp_path, capsys):
    assert main(["data", "check", str(tmp_path)]) == NO_DATA
    assert "No runs." in capsys.readouterr().out


def test_data_check_of_a_folder_that_does_not_exist(tmp_path, capsys):
    assert main(["data", "check", str(tmp_path / "nowhere")]) == NO_DATA
    assert "no such folder" in capsys.readouterr().err


def test_simulate_then_data_check(tmp_path, capsys):
    arguments = ["simulate", str(tmp_path), "--size", "tiny", "--models", "HadCM3"]
    assert main(arguments) == DONE
    assert "files written, 0 already there" in capsys.readouterr().out
    assert main(arguments) == DONE
    assert "0 files written" in capsys.readouterr().out
    table = tmp_path / "table.csv"
    assert main(["data", "check", str(tmp_path / "cmip5"), "--csv", str(table)]) == DONE
    out = capsys.readouterr().out
    assert "HadCM3" in out
    assert "360_day" in out
    assert "3 runs of 1 models, 3 usable." in out
    assert "as annual fields" in out
    assert len(table.read_text().splitlines()) == 4


def test_simulate_with_an_unknown_size(tmp_path, capsys):
    assert main(["simulate", str(tmp_path), "--size", "huge"]) == WRONG
    assert "unknown size 'huge': choose one of tiny, demo, full" in capsys.readouterr().err


def test_settings_are_shown_with_where_they_come_from(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CLIMANCHOR_CONFIG", str(tmp_path))
    assert main(["config", "show"]) == DONE
    assert "not there: these are the defaults" in capsys.readouterr().out
    (tmp_path / "config.yml").write_text("dask: slurm\nslurm: {queue: compute}\n")
    assert main(["config", "show"]) == DONE
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["dask"] == "slurm"
    assert shown["slurm"]["queue"] == "compute"


def test_wrong_settings_name_the_key(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CLIMANCHOR_CONFIG", str(tmp_path))
    (tmp_path / "config.yml").write_text("slurm:\n  que: compute\n")
    assert main(["config", "show"]) == WRONG
    assert "line 2: slurm.que is not a key of slurm: did you mean queue?" in capsys.readouterr().err


def test_the_version_and_the_exit_codes_are_told(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"climanchor {__version__}"
    text = parser().format_help()
    for code in ("130", "143", "the output folder is in use by another run"):
        assert code in text


def test_python_dash_m_is_the_same_command():
    ended = subprocess.run(
        [sys.executable, "-m", "climanchor", "--version"], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == f"climanchor {__version__}"


def test_sigterm_releases_the_folder_and_says_how_to_go_on(tmp_path):
    """A scheduler that ends the job finds the folder unlocked and the exit code of the signal."""
    path = tmp_path / "study.yml"
    path.write_text(RECIPE.replace("root: .", "simulate: {size: full}"))
    command = [sys.executable, "-m", "climanchor", "run", str(path), "--output", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "synthetic archive (full) …" in line:
            break
    process.send_signal(signal.SIGTERM)
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == TERMINATED
    assert "ended by SIGTERM: what was finished is kept" in said
    assert not (tmp_path / "out" / "run" / "lock").exists()


def test_output_cut_short_by_a_pipe_is_no_error():
    command = f"{sys.executable} -m climanchor recipes show demo | head -1; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ)
    assert ended.returncode == DONE
    assert ended.stderr == ""
