"""RefPAC-S: how well captions fit their images and the closest of their reference captions."""

import evaluate

from .ref_pac_s import largest_by_caption, ref_pac_s, text_places
from .shared_clip_rows import paired_cosines
from .shared_module import About
from .shared_pac_module import PacModule
from .shared_pac_s import pac_s

# isort: split
# Files that other files of this folder need: evaluate's loader copies only what is named here.
# Written by scripts/repository/sync_shared.py.
from .shared_caption_rows import as_caption_rows
from .shared_clip_checkpoints import Treatment
from .shared_clip_model import Tokens
from .shared_clip_weights import missing_library
from .shared_image_input import stored_value
from .shared_input_files import is_regular_file
from .shared_kept_rows import put_back
from .shared_long_captions import sentences
from .shared_messages import shown_value
from .shared_model_paths import is_path
from .shared_remembered_features import RememberedFeatures
from .shared_row_scores import scored_result

_LOADED = (
    as_caption_rows,
    Treatment,
    Tokens,
    missing_library,
    stored_value,
    is_regular_file,
    put_back,
    sentences,
    shown_value,
    is_path,
    RememberedFeatures,
    scored_result,
)

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
    ref_pac_score: mean over rows of the mean over a row's candidates, 0 to 2 weight / (weight + 1); higher is better.
    pac_score: the same without references, 0 to weight.
    n_rows: number of rows.
    n_truncated: captions of which words were not read; n_windowed: with "window", captions read in several windows.
    ref_pac_score_per_row, ref_pac_score_per_candidate, pac_score_per_row, pac_score_per_candidate,
    signature: with details.
Examples:
    >>> ref_pac = evaluate.load("metrics/ref_pac_score", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> import numpy as np
    >>> ref_pac_s(np.array([1.0, 2.0]), np.array([1.0, -0.5])).tolist()
    [1.0, 0.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RefPacScore(PacModule, evaluate.Metric):
    """RefPAC-S of captions, images and references, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/2303.12112", "https://github.com/aimagelab/pacscore"],
    )
    OWN_COLUMNS = ("predictions", "images", "references")
    progress = evaluate.utils.logging.tqdm

    def _compute(self, predictions, images, references, options):
        pictures, sizes = self.image_features(images), [len(row) for row in predictions]
        candidates = [caption for row in predictions for caption in row]
        captions = candidates + [text for row in references for text in row]
        texts = self.encode_captions(captions, options)
        places = text_places(sizes, [len(row) for row in references])
        image_cosines = paired_cosines(texts.distinct, pictures, texts.rows[: len(candidates)], places.rows)
        text_cosines = paired_cosines(
            texts.distinct, texts.distinct, texts.rows[places.captions], texts.rows[places.references]
        )
        pac_scores = pac_s(image_cosines, options["weight"])
        ref_pac_scores = ref_pac_s(pac_scores, largest_by_caption(text_cosines, places.n_references))
        scores = {"ref_pac_score": ref_pac_scores, "pac_score": pac_scores}
        return self.candidate_result(scores, sizes, texts, options)
