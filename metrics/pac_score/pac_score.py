"""PAC-S: how well captions fit their images, by CLIP tuned with positive-augmented contrastive learning."""

import math

import datasets
import evaluate
import numpy as np

from .shared_added_rows import added_rows_kept
from .shared_caption_rows import as_caption_rows
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
PAC-S scores captions against their images without references: the cosine of CLIP features, from a CLIP whose last
projections were tuned on human and generated captions and images (positive-augmented contrastive learning). With plain
CLIP weights and weight 2.5 the same module computes CLIP-S. Higher is better.
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
    prompt: words before every caption, default "A photo depicts"; "" for none.
    weight: factor of the cosine, default 2.0; CLIP-S has 2.5.
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
    pac_score: mean over rows of the mean over a row's candidates, 0 to weight; higher is better.
    n_rows: number of rows.
    pac_score_per_row, pac_score_per_candidate, n_truncated, signature: with details.
Examples:
    >>> pac_score = evaluate.load("metrics/pac_score", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> pac_score.compute(predictions=["a red square"], images=["red_square.png"])  # doctest: +SKIP
    >>> pac_s(np.array([0.5, -0.5]), 2.0).tolist()
    [1.0, 0.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class PacScore(evaluate.Metric):
    """PAC-S of captions and images, as an evaluate module."""

    def __init__(self, *args, **keywords):
        given = take_load_options(keywords, CLIP_LOAD_DEFAULTS | CALL_DEFAULTS)
        check_options(given)
        self.load_options = self.options = {name: given[name] for name in CALL_DEFAULTS}
        super().__init__(*args, **keywords)
        self.encoder = ClipEncoder(self.config_name, given, evaluate.utils.logging.tqdm)

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Sequence(datasets.Value("string")),
                    "images": datasets.Image(decode=False),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2303.12112", "https://github.com/aimagelab/pacscore"],
        )

    def add_batch(self, *, predictions=None, images=None, **keywords):
        """Check the captions and encode the images now: only their features are kept, in place of the images."""
        predictions = as_caption_rows(predictions, "predictions", string_is_one_caption=True)
        check_image_column(images, "images")
        features = self.encoder.encode_images(images, "images", self.options["batch_size"], self.options["n_workers"])
        check_image_count(len(predictions), len(features))
        stored = [{"bytes": row, "path": None} for row in features]
        super().add_batch(predictions=predictions, images=stored, **keywords)

    def add(self, *, prediction=None, image=None, **keywords):
        """Check one caption or list of captions, and encode its image now."""
        self.add_batch(predictions=[prediction], images=[image], **keywords)

    def compute(self, *, predictions=None, images=None, **options):
        """Check the options of this call, then compute; after an error the rows added before it are still there."""
        options.pop("references", None)  # without effect; evaluate.combine passes it to every module
        self.options = take_compute_options(options, self.load_options)
        check_options(self.options)
        check_rows_added(self, predictions, images)
        with added_rows_kept(self):
            return super().compute(predictions=predictions, images=images)

    def _compute(self, predictions, images):
        sizes = [len(row) for row in predictions]
        captions = with_prompt(self.options["prompt"], [caption for row in predictions for caption in row])
        texts = self.encoder.encode_texts(captions, self.options["batch_size"])
        pictures = as_feature_rows([image["bytes"] for image in images])
        cosines = paired_cosines(texts.distinct, pictures, texts.rows, np.repeat(np.arange(len(sizes)), sizes))
        return self._as_result(pac_s(cosines, self.options["weight"]), sizes, texts.n_truncated)

    def _as_result(self, scores, sizes, n_truncated):
        per_row = row_means(scores, sizes)
        # fsum is exact, so the order of the rows cannot change the last digit.
        result = {"pac_score": math.fsum(per_row) / len(per_row), "n_rows": len(per_row)}
        if self.options["details"]:
            result["pac_score_per_row"] = per_row
            result["pac_score_per_candidate"] = split_rows(scores.tolist(), sizes)
            result["n_truncated"] = n_truncated
            result["signature"] = self._signature()
        return result

    def _signature(self):
        return signature(
            "pac_score",
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
