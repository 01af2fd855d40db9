"""Detection: is the observed change outside what internal variability makes, also if models underestimate it?

The order of a study: :func:`prepare_control` and :func:`unforced_residuals` make unforced runs,
:func:`load_observations` brings a product to the fingerprint's grid and reference (or refuses, and
:func:`rebase` moves the models instead), :func:`detect` tests, :func:`size_and_power` and
:func:`over_confidence` test the test,
:func:`scorecard` measures the forced response itself.

The result of :func:`detect` is one dataset. *Cells* stands for nothing (a region was averaged) or for
``lat, lon`` (``region="cells"``).

========================  =======================  ==========================================================
variable                  dimensions               meaning
========================  =======================  ==========================================================
statistic                 cells                    observed trend (K/decade) or rank correlation
statistic_error           cells                    standard error of the trend, adjusted for autocorrelation
p_value                   cells                    p-value; ``p_value_low``, ``p_value_high``: its 90 % interval
detected                  cells                    ``p_value <= level``
critical_value            cells                    smallest statistic that is detected (Fisher's z if correlation)
null_std                  cells                    spread of the null about zero (Fisher's z if correlation)
effective_segments        cells                    effective number of independent control segments
inflation_limit           cells                    factor on decadal variability at which detection is lost
null                      segment, cells           statistics of the control segments (inflated as asked)
null_weight               segment                  their weights; coordinates ``segment_model``,
                                                   ``segment_member``, ``segment_start``
series                    year, cells              forced response predicted from observations, K
control_mean              cells                    mean of the projected control, K: where the series starts from
control_std               cells                    standard deviation of annual values of the projected control, K
emergence_year            cells                    first year after which the signal stays above the noise
p_value_by_inflation      inflation, cells         p-value for each factor on decadal variability
p_value_by_model          model, cells             p-value against each model's own null
observed_cells            lat, lon                 cells observed throughout the window
p_adjusted, detected_fdr  lat, lon                 Benjamini–Hochberg; only for ``region="cells"``
statistic_by_realization  realization, cells       only for an ensemble of observations, as are
                                                   ``p_value_by_realization``, ``series_by_realization (…, year, …)``
size                      cells                    rate of rejecting unforced segments, from three segments on; with
                                                   ``size_error``, ``size_by_model (size_model, …)``, ``size_tests``
power                     cells                    rate of rejecting forced members; only with pseudo-observations;
                                                   with ``power_error``, ``power_by_model (power_model, …)``, …
========================  =======================  ==========================================================

Attributes: ``statistic, window ("1985-2024"), region, null, sided, level, method, inflate, gap, segments,
control_models, observed_area, observations, reference``, ``caveats`` (what the result rests on, in words) and, of the
fingerprint, ``gamma, alpha, rank``.
"""

from climanchor.detection.control import branch_years, prepare_control, remove_drift, unforced_residuals
from climanchor.detection.coverage import coverage_mask
from climanchor.detection.decision import detect
from climanchor.detection.design import Design
from climanchor.detection.observations import load_observations
from climanchor.detection.pseudo import over_confidence, size_and_power
from climanchor.detection.reference import expected_series, rebase
from climanchor.detection.regions import region_weights
from climanchor.detection.result import summary
from climanchor.detection.scorecard import scorecard

__all__ = [
    "Design",
    "branch_years",
    "coverage_mask",
    "detect",
    "expected_series",
    "load_observations",
    "over_confidence",
    "prepare_control",
    "rebase",
    "region_weights",
    "remove_drift",
    "scorecard",
    "size_and_power",
    "summary",
    "unforced_residuals",
]
