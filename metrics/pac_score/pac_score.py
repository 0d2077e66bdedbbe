"""PAC-S: how well captions fit their images, by CLIP tuned with positive-augmented contrastive learning."""

import datasets
import evaluate
import numpy as np

from .shared_caption_rows import as_caption_rows
from .shared_clip_rows import (
    CLIP_CALL_DEFAULTS,
    CLIP_LOAD_DEFAULTS,
    ClipEncoder,
    check_clip_options,
    check_image_column,
    check_image_count,
    check_prompt,
    long_captions_name,
    paired_cosines,
    stored_features,
    stored_images,
)
from .shared_module import CollectionModule, check_flag, signature
from .shared_pac_s import PAC_PROMPT, PAC_WEIGHT, check_weight, pac_s
from .shared_row_scores import scored_result

# isort: split
# Files that other files of this folder need: evaluate's loader copies only what is named here.
# Written by scripts/repository/sync_shared.py.
from .shared_clip_checkpoints import Treatment
from .shared_clip_model import Tokens
from .shared_clip_weights import missing_library
from .shared_image_input import stored_value
from .shared_input_files import is_regular_file
from .shared_long_captions import sentences
from .shared_messages import shown_value
from .shared_model_paths import is_path
from .shared_remembered_features import RememberedFeatures

_LOADED = (
    Treatment,
    Tokens,
    missing_library,
    stored_value,
    is_regular_file,
    sentences,
    shown_value,
    is_path,
    RememberedFeatures,
)

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
    long_captions: of captions that are longer than the checkpoint reads: "truncate" (default) drops their last words,
        "window" reads them in runs of whole sentences and takes the mean of these. Both are counted.
    batch_size: images encoded at once, default 64.
    n_workers: threads that decode images; default one for each processor core, at most 8.
    details: True adds per-row lists and the signature; default False.
    At load time only:
    variant: which weights: "pac-vit-b-32" (default), "pac-openclip-vit-l-14", "pac++-vit-b-32", "pac++-vit-l-14",
        "clip-vit-b-32", "clip-vit-l-14" or "clip-vit-l-14-336"; "pac-" may be left out. evaluate's second argument is a
        short form of it.
    checkpoint: a .pth, .pt or .safetensors file, a folder or a Hub repository instead of the published weights.
    device: "auto" (default), or for example "cuda:0".
    dtype: "float32" (default) or "bfloat16".
    compile: True runs the encoders through torch.compile; default False.
Returns:
    pac_score: mean over rows of the mean over a row's candidates, 0 to weight; higher is better.
    n_rows: number of rows.
    n_truncated: captions of which words were not read; n_windowed: with "window", captions read in several windows.
    pac_score_per_row, pac_score_per_candidate, signature: with details.
Examples:
    >>> pac_score = evaluate.load("metrics/pac_score", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> pac_score.compute(predictions=["a red square"], images=["red_square.png"])  # doctest: +SKIP
    >>> pac_s(np.array([0.5, -0.5]), 2.0).tolist()
    [1.0, 0.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class PacScore(CollectionModule, evaluate.Metric):
    """PAC-S of captions and images, as an evaluate module."""

    DEFAULTS = {
        "prompt": PAC_PROMPT,
        "weight": PAC_WEIGHT,
        "details": False,
        **CLIP_CALL_DEFAULTS,
        **CLIP_LOAD_DEFAULTS,
    }
    LOAD_OPTIONS = frozenset(CLIP_LOAD_DEFAULTS)

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.encoder = ClipEncoder(self.load_options, evaluate.utils.logging.tqdm, self.config_name)

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

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_clip_options(options)
        check_prompt(options["prompt"])
        check_weight(options["weight"])
        check_flag("details", options["details"])

    def checked_columns(self, options, predictions, images):
        """Check the captions and encode the images now: only their features are kept, in place of the images."""
        predictions = as_caption_rows(predictions, "predictions", string_is_one_caption=True)
        check_image_column(images, "images")
        features = self.encoder.encode_images(images, "images", options["batch_size"], options["n_workers"])
        check_image_count(len(predictions), len(features))
        return {"predictions": predictions, "images": stored_images(features)}

    def _compute(self, predictions, images, options):
        pictures, sizes = stored_features(images), [len(row) for row in predictions]
        captions = [caption for row in predictions for caption in row]
        texts = self.encoder.encode_captions(options["prompt"], captions, options)
        cosines = paired_cosines(texts.distinct, pictures, texts.rows, np.repeat(np.arange(len(sizes)), sizes))
        result = scored_result({"pac_score": pac_s(cosines, options["weight"])}, sizes, options["details"])
        result |= texts.counts(options["long_captions"])
        return result | ({"signature": self._signature(options)} if options["details"] else {})

    def _signature(self, options):
        return signature(
            "pac_score",
            **self.encoder.signature_parts(),
            prompt=repr(options["prompt"]),
            weight=options["weight"],
            long_captions=long_captions_name(options),
        )
