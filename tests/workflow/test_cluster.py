"""Where the work runs: profiles and settings."""

import dask
import pytest
from threadpoolctl import threadpool_info

from climanchor.workflow.cluster import ClusterError, cluster, cores
from climanchor.workflow.config import Config, Slurm, config_path, load_config
from climanchor.workflow.recipe import RecipeError


def test_threads_use_the_number_of_workers_asked_for():
    with cluster("threads", Config(workers=3)) as where:
        assert where == "3 threads of this process"
        assert dask.config.get("num_workers") == 3
        assert dask.config.get("scheduler") == "threads"


def test_an_active_client_is_used_as_it_is(monkeypatch):
    import distributed

    monkeypatch.setattr(distributed, "get_client", lambda: "client")
    with cluster("threads", Config()) as where:
        assert where == "the active dask client"
        assert dask.config.get("scheduler", None) != "threads"


def test_blas_is_held_to_one_thread_so_that_results_do_not_depend_on_the_number_of_cores():
    with cluster("threads", Config()):
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


def test_the_cores_are_those_the_batch_system_grants(monkeypatch):
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "5")
    assert cores() == 5
    monkeypatch.delenv("SLURM_CPUS_PER_TASK")
    assert cores() >= 1


def test_slurm_is_asked_for_what_the_settings_say(monkeypatch):
    asked = {}

    class Cluster:
        def __init__(self, **options):
            asked.update(options)

        def __enter__(self):
            raise RuntimeError("stop here")

        def __exit__(self, *error):
            return None

    monkeypatch.setattr("dask_jobqueue.SLURMCluster", Cluster)
    slurm = Slurm(queue="compute", cores=4, processes=2, memory="8GB", jobs=3, job_extra_directives=["--qos=x"])
    with pytest.raises(RuntimeError, match="stop here"), cluster("slurm", Config(slurm=slurm)):
        pass
    assert asked["n_workers"] == 6
    assert asked["queue"] == "compute"
    assert asked["job_extra_directives"] == ["--qos=x"]
    assert "account" not in asked
    assert "wait_seconds" not in asked


def test_without_distributed_the_message_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("climanchor.workflow.cluster.importlib.import_module", missing)
    with pytest.raises(ClusterError, match=r"pip install 'climanchor\[hpc\]'"), cluster("processes", Config()):
        pass


@pytest.mark.parametrize("profile", ["thread", "local", "tcp:/127.0.0.1", ""])
def test_profiles_that_do_not_exist_are_refused(profile):
    with pytest.raises(RecipeError, match="is not a profile"), cluster(profile, Config()):
        pass


def test_the_settings_file_is_where_the_environment_says(tmp_path):
    assert config_path({"CLIMANCHOR_CONFIG": str(tmp_path)}) == tmp_path / "config.yml"
    assert config_path({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "climanchor" / "config.yml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dsk: threads", "dsk is not a key"),
        ("slurm: {walltime: forever}", "slurm.walltime is 'forever'"),
        ("slurm: {cores: 0}", "slurm.cores is 0, should be greater than or equal to 1"),
        ("workers: [", "not valid YAML"),
    ],
)
def test_wrong_settings_are_refused_with_the_key(tmp_path, text, message):
    path = tmp_path / "config.yml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=message.replace("[", r"\[")):
        load_config(path)


def test_no_settings_file_means_the_defaults(tmp_path):
    assert load_config(tmp_path / "config.yml") == Config()
