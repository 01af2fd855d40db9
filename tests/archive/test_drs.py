"""Names of CMIP files, read and written."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from climanchor.archive import Facets, cmip5_path, cmip6_path, parse_filename, parse_path
from climanchor.archive.drs import table_frequency, version_order

word = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,11}", fullmatch=True)
number = st.integers(1, 40)
dates = st.sampled_from(["", "185001-201412", "1850-2014", "18500101-18591231", "185001"])


@st.composite
def facets(draw: st.DrawFn) -> Facets:
    r, i, p, f = (draw(number) for _ in range(4))
    sub = draw(st.sampled_from(["", "s1960-"]))
    return Facets(
        variable=draw(st.sampled_from(["tas", "tos", "pr"])),
        table=draw(st.sampled_from(["Amon", "Omon", "day"])),
        model=draw(word),
        experiment=draw(word),
        member=f"{sub}r{r}i{i}p{p}f{f}",
        grid_label=draw(st.sampled_from(["gn", "gr", "gr1", "gm", "gr2z"])),
        dates=draw(dates),
        version=draw(st.sampled_from(["v20190308", "v1", "latest"])),
        project="CMIP6",
        activity=draw(word),
        institute=draw(word),
    )


@given(facets())
def test_cmip6_paths_are_read_as_they_were_written(given_facets: Facets) -> None:
    assert parse_path(cmip6_path(given_facets)) == given_facets


@given(facets())
def test_cmip5_paths_are_read_as_they_were_written(given_facets: Facets) -> None:
    member = given_facets.member.split("-")[-1].split("f")[0]
    old = replace(
        given_facets, project="CMIP5", grid_label="", activity="", member=member, product="output2", realm="ocean",
        frequency=table_frequency(given_facets.table),
    )  # fmt: skip
    assert parse_path(cmip5_path(old)) == old


@given(st.text(max_size=60))
def test_any_text_is_either_parsed_or_refused_without_an_error(name: str) -> None:
    found = parse_filename(name)
    assert found is None or name.startswith(found.variable)


@pytest.mark.parametrize(
    "name",
    [
        "tas.nc",
        "tas_Amon_CESM2_historical_r1i1p1f1_185001-201412.nc",  # CMIP6 without its grid label
        "tas_Amon_CESM2_historical_r1i1p1_gn_185001-201412.nc",  # CMIP5 with one
        "tas_Amon_CESM2_historical_r1i1p1f1_gn_185001-201412.nc.part",
        "tas_Amon_CESM2_historical_r1i1p1f1_gn_185001-201412_extra.nc",
        "tas_Amon__historical_r1i1p1f1_gn.nc",
    ],
)
def test_names_that_follow_neither_syntax_are_refused(name: str) -> None:
    assert parse_filename(name) is None


def test_cmip5_folders_may_lack_the_variable_and_spell_the_model_differently() -> None:
    folder = "cmip5/output1/BCC/BCC-CSM1-1/historical/mon/atmos/Amon/r1i1p1/v1/"
    found = parse_path(folder + "tas_Amon_bcc-csm1-1_historical_r1i1p1_185001-201212.nc")
    assert found is not None
    assert (found.version, found.institute, found.model) == ("v1", "BCC", "bcc-csm1-1")


def test_folders_that_disagree_with_the_name_add_nothing_but_the_version() -> None:
    folder = "CMIP6/CMIP/NCAR/CESM2/historical/r2i1p1f1/Amon/tas/gn/v20190308/"
    found = parse_path(folder + "tas_Amon_CESM2_historical_r1i1p1f1_gn_185001-201412.nc")
    assert found is not None
    assert (found.institute, found.version) == ("", "v20190308")


def test_a_name_that_lacks_a_facet_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="institute"):
        cmip6_path(Facets(variable="tas", activity="CMIP", version="v1"))


def test_a_facet_with_an_underscore_cannot_be_written() -> None:
    wrong = Facets("tas", "Amon", "MY_MODEL", "historical", "r1i1p1", version="v1", institute="X")
    with pytest.raises(ValueError, match="MY_MODEL"):
        cmip5_path(wrong)


def test_versions_sort_by_number_and_latest_is_last() -> None:
    assert sorted(["v20200101", "latest", "v3", "v20190308"], key=version_order)[-1] == "latest"
    assert max(["v20200101", "v3", ""], key=version_order) == "v20200101"
