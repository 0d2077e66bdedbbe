"""RefPAC-S: how well captions fit their images and the closest of their reference captions."""

import math

import datasets
import evaluate
import numpy as np

from .ref_pac_s import largest_by_caption, ref_pac_s, text_places
from .shared_added_rows import added_rows_kept
from .shared_caption_rows import as_caption_rows, check_row_counts
from .shared_clip_checkpoints import VARIANTS
from .shared_clip_model import ClipModel
from .shared_clip_rows import (
    CLIP_CALL_DEFAULTS,
    CLIP_LOAD_DEFAULTS,
    ClipEncoder,
    as_feature_rows,
    check_clip_options,
    check_image_column,
    check_image_count,
    check_prompt,
    check_rows_added,
    paired_cosines,
    row_means,
    split_rows,
    with_prompt,
)
from .shared_image_input import as_rgb_image
from .shared_options import check_flag, take_compute_options, take_load_options
from .shared_pac_s import PAC_PROMPT, PAC_WEIGHT, check_weight, pac_s
from .shared_remembered_features import RememberedFeatures
from .shared_signature import signature

# Options of every call, also possible at load time.
CALL_DEFAULTS = {"prompt": PAC_PROMPT, "weight": PAC_WEIGHT, "details": False, **CLIP_CALL_DEFAULTS}

_DESCRIPTION = """
RefPAC-S scores captions against their images and against human captions of them: the harmonic mean of PAC-S and of the
largest text-to-text cosine with a reference, both from a CLIP tuned with positive-augmented contrastive learning.
Higher is better.
"""

_CITATION = """
@inproceedings{sarto2023positive,
  title={Positive-Augmented Contrastive Learning for Image and Video Captioning Evaluation},
  author={Sarto, Sara and Barraco, Manuele and Cornia, Marcella and Baraldi, Lorenzo and Cucchiara, Rita},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year={2023}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of candidate captions; a plain string counts as one candidate.
    images: n_rows images: paths, encoded bytes, PIL images, uint8 arrays (height, width, 3), or a `datasets` column.
    references: n_rows lists of reference captions.
    prompt: words before every caption and reference, default "A photo depicts"; "" for none.
    weight: factor of the image cosine, default 2.0; RefCLIP-S has 2.5.
    batch_size: images encoded at once, default 64.
    n_workers: threads that decode images; default one for each processor core, at most 8.
    details: True adds per-row lists, the number of cut captions and the signature; default False.
    At load time only:
    config_name: "pac-vit-b-32" (default), "pac-openclip-vit-l-14", "pac++-vit-b-32", "pac++-vit-l-14",
        "clip-vit-b-32" or "clip-vit-l-14"; "pac-" may be left out.
    checkpoint: a .pth, .pt or .safetensors file, a folder or a Hub repository instead of the published weights.
    device: "auto" (default), or for example "cuda:0".
    dtype: "float32" (default) or "bfloat16".
    compile: True runs the encoders through torch.compile; default False.
Returns:
    ref_pac_score: mean over rows of the mean over a row's candidates, 0 to 2 weight / (weight + 1); higher is better.
    pac_score: the same without references, 0 to weight.
    n_rows: number of rows.
    ref_pac_score_per_row, ref_pac_score_per_candidate, pac_score_per_row, pac_score_per_candidate, n_truncated,
    signature: with details.
Examples:
    >>> ref_pac = evaluate.load("metrics/ref_pac_score", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> ref_pac_s(np.array([1.0, 2.0]), np.array([1.0, -0.5])).tolist()
    [1.0, 0.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RefPacScore(evaluate.Metric):
    """RefPAC-S of captions, images and references, as an evaluate module."""

    def __init__(self, *args, **keywords):
        given = take_load_options(keywords, CLIP_LOAD_DEFAULTS | CALL_DEFAULTS)
        check_options(given)
        self.load_options = self.options = {name: given[name] for name in CALL_DEFAULTS}
        super().__init__(*args, **keywords)
        self.encoder = ClipEncoder(self.config_name, given, evaluate.utils.logging.tqdm)

    def _info(self):
        captions = datasets.Sequence(datasets.Value("string"))
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": captions, "images": datasets.Image(decode=False), "references": captions}
            ),
            reference_urls=["https://arxiv.org/abs/2303.12112", "https://github.com/aimagelab/pacscore"],
        )

    def add_batch(self, *, predictions=None, images=None, references=None, **keywords):
        """Check the captions and encode the images now: only their features are kept, in place of the images."""
        predictions = as_caption_rows(predictions, "predictions", string_is_one_caption=True)
        references = as_caption_rows(references, "references")
        check_row_counts(len(predictions), len(references))
        check_image_column(images, "images")
        features = self.encoder.encode_images(images, "images", self.options["batch_size"], self.options["n_workers"])
        check_image_count(len(predictions), len(features))
        stored = [{"bytes": row, "path": None} for row in features]
        super().add_batch(predictions=predictions, images=stored, references=references, **keywords)

    def add(self, *, prediction=None, image=None, reference=None, **keywords):
        """Check one row's captions and references, and encode its image now."""
        self.add_batch(predictions=[prediction], images=[image], references=[reference], **keywords)

    def compute(self, *, predictions=None, images=None, references=None, **options):
        """Check the options of this call, then compute; after an error the rows added before it are still there."""
        self.options = take_compute_options(options, self.load_options)
        check_options(self.options)
        check_rows_added(self, predictions, images, references)
        with added_rows_kept(self):
            return super().compute(predictions=predictions, images=images, references=references)

    def _compute(self, predictions, images, references):
        sizes = [len(row) for row in predictions]
        candidates = [caption for row in predictions for caption in row]
        captions = with_prompt(self.options["prompt"], candidates + [text for row in references for text in row])
        texts = self.encoder.encode_texts(captions, self.options["batch_size"])
        pictures = as_feature_rows([image["bytes"] for image in images])
        places = text_places(sizes, [len(row) for row in references])
        image_cosines = paired_cosines(texts.distinct, pictures, texts.rows[: len(candidates)], places.rows)
        text_cosines = paired_cosines(
            texts.distinct, texts.distinct, texts.rows[places.captions], texts.rows[places.references]
        )
        pac_scores = pac_s(image_cosines, self.options["weight"])
        closest = largest_by_caption(text_cosines, places.n_references)
        return self._as_result(
            {"ref_pac_score": ref_pac_s(pac_scores, closest), "pac_score": pac_scores}, sizes, texts.n_truncated
        )

    def _as_result(self, scores, sizes, n_truncated):
        per_row = {name: row_means(values, sizes) for name, values in scores.items()}
        # fsum is exact, so the order of the rows cannot change the last digit.
        result = {name: math.fsum(means) / len(means) for name, means in per_row.items()} | {"n_rows": len(sizes)}
        if self.options["details"]:
            result |= {f"{name}_per_row": means for name, means in per_row.items()}
            result |= {f"{name}_per_candidate": split_rows(v.tolist(), sizes) for name, v in scores.items()}
            result |= {"n_truncated": n_truncated, "signature": self._signature()}
        return result

    def _signature(self):
        return signature(
            "ref_pac_score",
            **self.encoder.signature_parts(),
            prompt=repr(self.options["prompt"]),
            weight=self.options["weight"],
        )


def check_options(options):
    """Raise unless every option of this module has a legal value."""
    check_clip_options(options)
    check_prompt(options["prompt"])
    check_weight(options["weight"])
    check_flag("details", options["details"])
