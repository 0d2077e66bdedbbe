"""Caption evaluation of COCO: pycocoevalcap's class, and files of annotations and results, without pycocotools."""

import collections
import numbers
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from manycaps.kit.coco_scores import BLEUS
from manycaps.kit.errors import InputError, quote_path, quote_value
from manycaps.kit.files import read_json

from . import scorers
from .scorers import Bleu, Meteor, Spice

ANNOTATIONS = '{"images": [{"id": 1}], "annotations": [{"image_id": 1, "caption": "A dog."}]}'
RESULTS = '[{"image_id": 1, "caption": "a dog"}]'

AnnotationSource = str | os.PathLike[str]


class CaptionFile:
    """Captions by image: what COCOEvalCap uses of pycocotools' class COCO.

    >>> coco = CaptionFile({"images": [{"id": 3}], "annotations": [{"image_id": 3, "caption": "A dog."}]})
    >>> coco.getImgIds(), coco.imgToAnns[3]
    ([3], [{'image_id': 3, 'caption': 'A dog.'}])
    """

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any], split: str | None = None) -> None:
        """Read a file of annotations, or a split of Karpathy's or MSR-VTT's, or take its content.

        Raises:
            TypeError, ValueError: the file is no JSON, or has another layout; the message names the first bad entry.
        """
        self.name = "annotations" if isinstance(source, Mapping) else quote_path(source)
        advice = f"Give COCO's layout {ANNOTATIONS}."
        content = source if isinstance(source, Mapping) else _annotations_of(source, self.name, split, advice)
        if not isinstance(content, Mapping) or not isinstance(content.get("annotations"), list):
            raise InputError(self.name, 'an object with "annotations"', quote_value(content), advice)
        self.dataset = content
        self.imgToAnns = _by_image(content["annotations"], f"{self.name}: annotations", advice)
        images = content.get("images", [{"id": key} for key in self.imgToAnns])
        if not isinstance(images, list):
            raise InputError(f"{self.name}: images", "a list", quote_value(images), advice)
        for i, image in enumerate(images):
            if not isinstance(image, Mapping) or not _is_id(image.get("id")):
                raise InputError(f"{self.name}: images[{i}]", "an object with an id", quote_value(image), advice)
        self._ids: list[Hashable] = list(dict.fromkeys(image["id"] for image in images))
        _check_distinct(images, ("file_name",), f"{self.name}: images")
        _check_distinct(content["annotations"], ("image_id", "caption"), f"{self.name}: annotations", equal=True)

    def getImgIds(self) -> list[Hashable]:  # noqa: N802  # pycocotools' name
        """Return the ids of the images, in the order of the file."""
        return list(self._ids)

    def loadRes(self, results: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> "CaptionFile":  # noqa: N802
        """Read results on these images, the path of a file or its content.

        Raises:
            TypeError, ValueError: as `CaptionFile`; or an image is not annotated.
        """
        is_path = isinstance(results, str | os.PathLike)
        name = quote_path(results) if is_path else "results"  # type: ignore[arg-type]
        content = read_json(results, name, f"Give {RESULTS}.") if is_path else results  # type: ignore[arg-type]
        if not isinstance(content, list):
            raise InputError(name, "a list of captions", quote_value(content), f"Give {RESULTS}.")
        captions = _by_image(content, name, f"Give {RESULTS}.")
        known = set(self._ids)
        missing = [key for key in captions if key not in known]
        if missing and len(missing) == len(captions) and known:
            from manycaps.files.caption_tables.ids import ids_error

            raise ids_error(name, captions, self.name, self._ids, "Give the annotations of these images.")
        if missing:
            got = f"{len(missing)} others such as {quote_value(missing[0])}"
            fix = "Give the annotations of these images; ids are compared with their types, 1 is not '1'."
            raise InputError(name, f"images of {self.name}", got, fix)
        images = [{"id": key} for key in self._ids if key in captions]
        return CaptionFile({"images": images, "annotations": content})


def _annotations_of(source: AnnotationSource, name: str, split: str | None, advice: str) -> Any:
    """Content of a file in COCO's layout; Karpathy's and MSR-VTT's are converted to it."""
    # Tables need pyarrow, which those who evaluate in memory need not.
    from manycaps.files.caption_tables.json_datasets import captions_of, rows_with_splits, trimmer

    content = read_json(source, name, advice, trimmer(split))
    rows = rows_with_splits(content, name, split)
    if rows is None:
        if split is not None:
            raise InputError("--split", "a file with splits, as dataset_coco.json", name, "Leave it out.")
        return content
    captions = [(row.get("image_id", row.get("video_id")), text) for row in rows for text in captions_of(row)]
    return {"annotations": [{"image_id": key, "caption": text} for key, text in captions]}


def _check_distinct(entries: Sequence[Any], names: Sequence[str], where: str, equal: bool = False) -> None:
    """Raise if two entries have one id and different values of some keys; with `equal`, if they have the same ones."""
    first: dict[Any, tuple[int, list[Any]]] = {}
    for i, entry in enumerate(entries):
        key = entry.get("id")
        if isinstance(key, int | str):
            values = [entry.get(name) for name in names]
            earlier, known = first.setdefault(key, (i, values))
            if earlier != i and (known == values) == equal:
                got = f"{quote_value(key)} as in {where.rpartition(': ')[2]}[{earlier}]"
                raise InputError(f"{where}[{i}]", "each id once", got, "Leave one of them out.")


def _by_image(entries: Sequence[Any], name: str, advice: str) -> "collections.defaultdict[Hashable, list[Any]]":
    """Captions by the id of their image; as in pycocotools an unknown id has none."""
    captions: collections.defaultdict[Hashable, list[Any]] = collections.defaultdict(list)
    for i, entry in enumerate(entries):
        if not (isinstance(entry, Mapping) and _is_id(entry.get("image_id")) and isinstance(entry.get("caption"), str)):
            raise InputError(f"{name}[{i}]", "an object with image_id and caption", quote_value(entry), advice)
        captions[entry["image_id"]].append(entry)
    return captions


def _is_id(value: Any) -> bool:
    """Whether this names an image: a text, or a number, as Python, NumPy or JSON has it; 1 and 1.0 name the same."""
    return isinstance(value, str | numbers.Real) and value == value


class COCOEvalCap:
    """The evaluation of results on annotated images: BLEU-1 to 4, METEOR, ROUGE-L and CIDEr. SPICE is not computed.

    >>> annotations = {
    ...     "images": [{"id": 1}, {"id": 2}],
    ...     "annotations": [{"image_id": 1, "caption": "A dog."}, {"image_id": 2, "caption": "The red cat."}],
    ... }
    >>> coco = CaptionFile(annotations)
    >>> coco_eval = COCOEvalCap(coco, coco.loadRes([{"image_id": 1, "caption": "a dog"}]))
    >>> coco_eval.params
    {'image_id': [1, 2]}
    """

    def __init__(self, coco: Any, cocoRes: Any) -> None:  # noqa: N803  # pycocoevalcap's name
        """Take annotations and results.

        Args:
            coco: an object of pycocotools' class COCO, or the path of a file of annotations.
            cocoRes: what its `loadRes` returned; beside a path also the path or the list of the results.
        """
        self.evalImgs: list[dict[str, Any]] = []
        self.eval: dict[str, Any] = {}
        self.imgToEval: dict[Hashable, dict[str, Any]] = {}
        self.coco = CaptionFile(coco) if isinstance(coco, str | os.PathLike) else coco
        results = os.fspath(cocoRes) if isinstance(cocoRes, os.PathLike) else cocoRes
        self.cocoRes = self.coco.loadRes(results) if isinstance(results, str | list) else results
        self.params: dict[str, Any] = {"image_id": self.coco.getImgIds()}

    def evaluate(self) -> None:
        """Compute all metrics of the images `params["image_id"]`, and print them."""
        meteor, spice = _as_called("Meteor"), _as_called("Spice")
        self._evaluate(print, meteor(), None if spice is Spice else spice())

    def _evaluate(self, tell: Callable[[str], None], meteor: Any, spice: Any = None) -> None:
        """Compute all metrics, with `spice` if there is one; `tell` prints a line."""
        ids = self.params["image_id"]
        gts, res = ({key: side.imgToAnns[key] for key in ids} for side in (self.coco, self.cocoRes))
        tell("tokenization...")
        tokenizer = _as_called("PTBTokenizer")()
        gts, res = tokenizer.tokenize(gts), tokenizer.tokenize(res)
        tell("setting up scorers...")
        chosen = [
            (_as_called("Bleu")(4), list(BLEUS)),
            (meteor, "METEOR"),
            (_as_called("Rouge")(), "ROUGE_L"),
            (_as_called("Cider")(), "CIDEr"),
            *([(spice, "SPICE")] if spice else []),
        ]
        for scorer, methods in chosen:
            tell(f"computing {scorer.method()} score...")
            is_silent = tell is _say_nothing and isinstance(scorer, Bleu)
            scored = scorer.compute_score(gts, res, **({"verbose": 0} if is_silent else {}))
            values = zip(*scored, methods, strict=False) if isinstance(methods, list) else [(*scored, methods)]
            for score, scores, method in values:
                self.setEval(score, method)
                self.setImgToEvalImgs(scores, gts.keys(), method)
                tell(f"{method}: {score:0.3f}")
        self.setEvalImgs()

    def setEval(self, score: Any, method: str) -> None:  # noqa: N802
        """Keep the value of the corpus."""
        self.eval[method] = score

    def setImgToEvalImgs(self, scores: Sequence[Any], imgIds: Iterable[Hashable], method: str) -> None:  # noqa: N802, N803
        """Keep the values of the images."""
        for key, score in zip(imgIds, scores, strict=False):
            self.imgToEval.setdefault(key, {"image_id": key})[method] = score

    def setEvalImgs(self) -> None:  # noqa: N802
        """List the values of the images."""
        self.evalImgs = list(self.imgToEval.values())


def evaluate_files(
    annotations: AnnotationSource,
    results: AnnotationSource | list[Mapping[str, Any]],
    meteor15_data: AnnotationSource | None = None,
    split: str | None = None,
) -> COCOEvalCap:
    """Evaluate a file of results on the images that it has, and print nothing.

    Args:
        annotations: path of COCO's file, as `CaptionFile` reads it.
        results: path of [{"image_id": 1, "caption": "a dog"}], or that list: one caption per image.
        meteor15_data: as for `Meteor`.
        split: of Karpathy's or MSR-VTT's file as the annotations, "test" for example.

    Returns:
        The finished evaluation: `eval` has the values of the corpus, `imgToEval` of each image.

    Raises:
        TypeError, ValueError: a file has another layout, or an image of the results is not annotated.
        ImportError: pycocoevalcap, which has METEOR's data, is not installed.
    """
    annotated = CaptionFile(annotations, split)
    evaluation = COCOEvalCap(annotated, annotated.loadRes(results))
    evaluation.params["image_id"] = evaluation.cocoRes.getImgIds()
    evaluation._evaluate(_say_nothing, Meteor(meteor15_data))
    return evaluation


def _as_called(name: str) -> Any:
    """A class as callers see it: what they put in its place in `pycocoevalcap.eval`, while that name is this package's.

    They skip scorers so, such as `pycocoevalcap.eval.Spice`.
    """
    module = sys.modules.get("pycocoevalcap.eval")
    is_ours = getattr(module, "COCOEvalCap", None) is COCOEvalCap
    return getattr(module if is_ours else scorers, name)


def _say_nothing(_line: str) -> None: ...
