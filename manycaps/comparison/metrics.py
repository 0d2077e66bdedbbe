"""The values of a row by which systems are compared, and which of two values is the better one."""

from collections.abc import Collection
from typing import NamedTuple


class Metric(NamedTuple):
    """A value of every row."""

    # Key of the module's results, which have it per row under `<key>_per_row`.
    key: str
    module: str
    # What it is called in tables.
    title: str
    # Which value is best: "highest", "lowest", or "zero" for an excess, which is 0 for human captions.
    best: str
    # What it measures, for axes.
    measures: str

    @property
    def direction(self) -> str:
        """What to look for, for axes and tables.

        >>> METRICS[0].direction
        'nearer to 0 is nearer to people'
        """
        return {
            "highest": "higher is better",
            "lowest": "lower is better",
            "zero": "nearer to 0 is nearer to people",
        }[self.best]

    def distance(self, mean: float) -> float:
        """How far a mean is from the best one, up to a constant: smaller is better.

        >>> METRICS[0].distance(-0.5), METRICS[1].distance(0.25)
        (0.5, -0.25)
        """
        return abs(mean) if self.best == "zero" else -mean if self.best == "highest" else mean


def _set_metric(module: str, title: str, what: str) -> tuple[Metric, Metric]:
    """A metric of two sets of captions: its excess, and the statistic for results without one."""
    return (
        Metric(f"{module}_excess", module, title, "zero", f"{what}, above chance"),
        Metric(module, module, title, "lowest", what),
    )


_TRM_METEOR, _TRM_CIDER, _TRM_BERT, _MMD_BERT, _FID_BERT = (
    _set_metric("trm_meteor", "TRM-METEOR", "triangle-rank statistic of METEOR"),
    _set_metric("trm_cider", "TRM-CIDEr", "triangle-rank statistic of CIDEr-D"),
    _set_metric("trm_bert", "TRM-BERT", "triangle-rank statistic of sentence embeddings"),
    _set_metric("mmd_bert", "MMD-BERT", "maximum mean discrepancy"),
    _set_metric("fid_bert", "FID-BERT", "Fréchet distance"),
)

# In the order of tables. The excess of a set metric stands in place of its statistic where it is known: the statistic
# of human captions is not 0 and depends on their number, the excess is around 0 for any number. Away from 0 both depend
# on it.
METRICS = (
    _TRM_METEOR[0],
    Metric("meteor", "trm_meteor", "METEOR", "highest", "METEOR, as NLTK computes it"),
    Metric("meteor15", "meteor15", "METEOR 1.5", "highest", "METEOR 1.5"),
    _TRM_CIDER[0],
    Metric("cider_d", "trm_cider", "CIDEr-D", "highest", "CIDEr-D"),
    _TRM_BERT[0],
    Metric("cosine", "trm_bert", "cosine", "highest", "cosine with the nearest reference"),
    _MMD_BERT[0],
    _FID_BERT[0],
    Metric("pac_score", "pac_score", "PAC-S", "highest", "PAC-S"),
    Metric("ref_pac_score", "ref_pac_score", "RefPAC-S", "highest", "RefPAC-S"),
    Metric("emscore_pac", "emscore_pac", "EMScore", "highest", "EMScore"),
    *(statistic for _, statistic in (_TRM_METEOR, _TRM_CIDER, _TRM_BERT, _MMD_BERT, _FID_BERT)),
)

# Modules that compare two sets of captions, and what they are called.
SET_MODULES = {
    statistic.module: statistic.title for _, statistic in (_TRM_METEOR, _TRM_CIDER, _TRM_BERT, _MMD_BERT, _FID_BERT)
}


def known_metrics(keys: Collection[str]) -> list[Metric]:
    """Return the metrics by which rows with these values are compared.

    Args:
        keys: keys of the values of a row.

    >>> [metric.key for metric in known_metrics(["trm_cider", "trm_cider_excess", "cider_d", "trm_bert"])]
    ['trm_cider_excess', 'cider_d', 'trm_bert']
    """
    return [
        metric
        for metric in METRICS
        if metric.key in keys and not (metric.best == "lowest" and f"{metric.key}_excess" in keys)
    ]
