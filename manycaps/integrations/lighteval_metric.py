"""Modules as corpus metrics of lighteval."""

from typing import Any

from manycaps.integrations import as_log


def corpus_metric(module: str = "human_parity", **options: Any) -> Any:
    """Return a metric for the `metrics` of a lighteval task: a module over all documents of the task.

    A document is a row: its golds are the references, and the texts that the model generated for it are the candidates,
    as many as the task's `num_samples`.

    Args:
        module: name of a module of captions and references.
        options: of the module.

    Returns:
        A `lighteval.metrics.utils.metric_utils.CorpusLevelMetric`; the results of the task have every number of the
        module, by its name.

    Raises:
        ImportError: lighteval is not installed.
        TypeError, ValueError: there is no such module or option.
    """
    from lighteval.metrics.sample_preparator import GenerativePreparator
    from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
    from lighteval.tasks.requests import SamplingMethod

    from manycaps import load

    loaded = load(module, **options)

    def corpus_values(items: list[Any]) -> dict[str, float]:
        predictions, references = [list(item.preds) for item in items], [list(item.golds) for item in items]
        return as_log(loaded.compute(predictions=predictions, references=references))[0]

    return CorpusLevelMetric(
        metric_name=module,
        sample_level_fn=GenerativePreparator(),
        category=SamplingMethod.GENERATIVE,
        corpus_level_fn=corpus_values,
        higher_is_better=False,
    )
