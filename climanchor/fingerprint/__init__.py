"""From prepared data to a chosen, fitted, saved and scored fingerprint.

Reading order: `cells` and `samples` (fields ⇄ matrices), `accumulate` (moments by model), `evidence` (one pass over the
data), `spaces` (the same problem in samples or cells), `splits`, `validation` and `selection` (γ, α and ρ),
`fitting`, `fitted` and `storage` (the fingerprint).
"""

from climanchor.fingerprint.cells import Cells
from climanchor.fingerprint.evidence import Evidence, gather
from climanchor.fingerprint.fitted import Fingerprint
from climanchor.fingerprint.fitting import fit_evidence, fit_fingerprint
from climanchor.fingerprint.selection import Choice, Selection, pareto_front
from climanchor.fingerprint.splits import Split, split_models
from climanchor.fingerprint.validation import select

__all__ = [
    "Cells",
    "Choice",
    "Evidence",
    "Fingerprint",
    "Selection",
    "Split",
    "fit_evidence",
    "fit_fingerprint",
    "gather",
    "pareto_front",
    "select",
    "split_models",
]
