"""Modules as scorers of Inspect (inspect_ai)."""

from typing import Any

from manycaps.integrations import as_log


def caption_scorer(module: str = "human_parity", **options: Any) -> Any:
    """Return a scorer for the `scorer` of an Inspect task, with a metric over all samples.

    A sample is a row: its targets are the references, and the choices of the model's output are the candidates, as many
    as the `num_choices` of its configuration.

    Args:
        module: name of a module of captions and references.
        options: of the module.

    Returns:
        An `inspect_ai.scorer.Scorer`. The score of a sample is its first caption, with all in its metadata; the metric
        has every number of the module, by its name.

    Raises:
        ImportError: inspect_ai is not installed.
        TypeError, ValueError: there is no such module or option.
    """
    from inspect_ai.scorer import Score, metric, scorer

    from manycaps import load

    loaded = load(module, **options)

    def corpus() -> Any:
        def compute(scores: list[Any]) -> dict[str, float]:
            rows = [sample.score.metadata for sample in scores]
            columns = {name: [row[name] for row in rows] for name in ("predictions", "references")}
            return as_log(loaded.compute(**columns))[0]

        return compute

    def captions() -> Any:
        async def score(state: Any, target: Any) -> Any:
            texts = [choice.message.text for choice in state.output.choices]
            return Score(value=texts[0], metadata={"predictions": texts, "references": list(target)})

        return score

    return scorer(metrics=[metric(name=module)(corpus)()], name="captions")(captions)()
