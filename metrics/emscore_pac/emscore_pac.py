"""EMScore with PAC encoders: how well captions fit their videos, and their references, at two scales."""

import math

import datasets
import evaluate
import numpy as np

from .embedding_matching import (
    REFERENCE_AGGREGATIONS,
    Match,
    Text,
    closest_reference,
    combined_match,
    match_columns,
    match_reference,
    match_video,
)
from .shared_added_rows import added_rows_kept
from .shared_caption_rows import as_caption_rows, check_row_counts
from .shared_clip_checkpoints import VARIANTS, variant_name
from .shared_clip_model import ClipModel
from .shared_clip_rows import (
    CLIP_CALL_DEFAULTS,
    CLIP_LOAD_DEFAULTS,
    ClipEncoder,
    check_clip_options,
    check_rows_added,
    row_means,
    split_rows,
)
from .shared_image_input import as_rgb_image
from .shared_options import check_choice, check_flag, take_compute_options, take_load_options
from .shared_remembered_features import RememberedFeatures
from .shared_signature import signature
from .shared_video_input import as_video_source, check_frames, decoder_name, video_size
from .token_weights import (
    EQUAL_WEIGHTS,
    check_idf,
    count_tokens,
    inverse_document_frequency,
    load_token_frequency,
)
from .video_features import VideoEncoder, check_video_column, check_video_count

# What a caption is compared with: its video, or also reference captions.
CONFIG_NAMES = ("default", "references")

# Options that decide the model; given at load time only, since videos are encoded when they are added.
LOAD_DEFAULTS = {"variant": None, **CLIP_LOAD_DEFAULTS}

# Options of every call, also possible at load time.
CALL_DEFAULTS = {
    "idf": False,
    "reference_aggregation": "authors",
    "frames": "all",
    "details": False,
    **CLIP_CALL_DEFAULTS,
}

_DESCRIPTION = """
EMScore scores video captions with the features of a CLIP: coarse, the cosine of the whole caption with the mean of the
frames, and fine, an F score of every word with its best frame and every frame with its best word. Here the CLIP is PAC,
tuned with positive-augmented contrastive learning. With references the same is done against their words. Higher is
better.
"""

_CITATION = """
@inproceedings{shi2022emscore,
  title={EMScore: Evaluating Video Captioning via Coarse-Grained and Fine-Grained Embedding Matching},
  author={Shi, Yaya and Yang, Xu and Xu, Haiyang and Yuan, Chunfeng and Li, Bing and Hu, Weiming and Zha, Zheng-Jun},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year={2022}
}
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
    videos: n_rows videos: paths, encoded bytes, lists of images, arrays of frame features (n_frames, d), or a
        `datasets` column.
    references: n_rows lists of reference captions, with the configuration "references" only.
    idf: False (default) weights all tokens alike; True by their inverse document frequency in the references, without
        them in the candidates; or a table {"n_documents": 8092, "document_frequency": {"dog</w>": 312, ...}}, or the
        path of a JSON file with one.
    reference_aggregation: "authors" (default; the largest of each value by itself) or "equation_8" (the reference with
        the largest score).
    frames: "all" (default), or how many, evenly spread; the same for all rows of a compute.
    batch_size: frames encoded at once, default 64.
    n_workers: videos decoded at the same time; default one for each processor core, at most 8.
    details: True adds per-row lists, the number of cut captions and the signature; default False.
    At load time only:
    config_name: "default" (video only) or "references".
    variant: "pac-vit-b-32" (default), "pac-openclip-vit-l-14", "pac++-vit-b-32", "pac++-vit-l-14", "clip-vit-b-32" or
        "clip-vit-l-14"; "pac-" may be left out.
    checkpoint: a .pth, .pt or .safetensors file, a folder or a Hub repository instead of the published weights.
    device: "auto" (default), or for example "cuda:0".
    dtype: "float32" (default) or "bfloat16".
    compile: True runs the encoders through torch.compile; default False.
Returns:
    emscore_pac: mean over rows of the mean over a row's candidates of (coarse + fine_f) / 2, -1 to 1; higher is better.
    coarse: cosine of the whole caption and the whole video.
    fine_precision, fine_recall, fine_f: over words, over frames, and their harmonic mean.
    full_precision, full_recall: (coarse + fine_precision) / 2 and (coarse + fine_recall) / 2.
    n_rows: number of rows.
    reference_..., combined_...: with references, each of these values against the references, and the mean of both.
    ..._per_row, ..._per_candidate, n_truncated, signature: with details.
Examples:
    >>> emscore = evaluate.load("metrics/emscore_pac", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> emscore.compute(predictions=["a dog runs"], videos=["dog.mp4"], frames=10)  # doctest: +SKIP
    >>> caption = Text(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2))
    >>> match_video(caption, np.array([[0.0, 2.0]]))
    Match(coarse=1.0, fine_precision=0.5, fine_recall=1.0, fine_f=0.6666666666666666)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class EmscorePac(evaluate.Metric):
    """EMScore of captions and videos, as an evaluate module."""

    def __init__(self, *args, **keywords):
        given = take_load_options(keywords, LOAD_DEFAULTS | CALL_DEFAULTS)
        check_options(given)
        self.load_options = self.options = {name: given[name] for name in CALL_DEFAULTS}
        super().__init__(*args, **keywords)
        self.encoder = ClipEncoder(given["variant"], given, evaluate.utils.logging.tqdm, "variant")
        self.videos = VideoEncoder(self.encoder)

    def _info(self):
        check_config_name(self.config_name)
        captions = datasets.Sequence(datasets.Value("string"))
        features = {"predictions": captions, "videos": datasets.Video(decode=False)}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(features | ({"references": captions} if self._has_references() else {})),
            reference_urls=["https://arxiv.org/abs/2303.12112", "https://arxiv.org/abs/2111.08919"],
        )

    def add_batch(self, *, predictions=None, videos=None, references=None, **keywords):
        """Check the captions and encode the videos now: only their features are kept, in place of the videos."""
        columns = {"predictions": as_caption_rows(predictions, "predictions", string_is_one_caption=True)}
        if self._has_references():
            columns["references"] = as_caption_rows(references, "references")
            check_row_counts(len(columns["predictions"]), len(columns["references"]))
        else:
            check_no_references(references)
        check_video_column(videos, "videos")
        options = (self.options[name] for name in ("frames", "batch_size", "n_workers"))
        keys = self.videos.encode_videos(videos, "videos", *options)
        check_video_count(len(columns["predictions"]), len(keys))
        super().add_batch(videos=self._stored(keys), **columns, **keywords)

    def add(self, *, prediction=None, video=None, reference=None, **keywords):
        """Check one caption or list of captions, and encode its video now."""
        references = None if reference is None else [reference]
        self.add_batch(predictions=[prediction], videos=[video], references=references, **keywords)

    def compute(self, *, predictions=None, videos=None, references=None, **options):
        """Check the options of this call, then compute; after an error the rows added before it are still there."""
        self.options = take_compute_options(options, self.load_options)
        try:
            check_options(self.options)
            self._check_frames_of_added_rows()
            check_rows_added(self, predictions, videos, references)
            columns = {"references": references} if self._has_references() else check_no_references(references)
            with added_rows_kept(self):
                result = super().compute(predictions=predictions, videos=videos, **columns)
        finally:
            self.options = self.load_options  # rows that are added next have the options of load time again
        self.videos.forget()
        return result

    def examine_video(self, video):
        """Return the seconds, frames, width and height of a video file, a path or bytes, without decoding it."""
        return video_size(as_video_source(video, "video"), "video")

    def _compute(self, predictions, videos, references=None):
        sizes = [len(row) for row in predictions]
        captions = [caption for row in predictions for caption in row]
        others = [text for row in references for text in row] if references else []
        texts, n_truncated = self._encode_texts(captions, others)
        frames = self._frame_features(videos)
        on_video = [
            match_video(texts[caption], frames[video["path"]])
            for row, video in zip(predictions, videos, strict=True)
            for caption in row
        ]
        values = match_columns(on_video)
        if references:
            on_references = [
                self._match_references(texts[caption], [texts[text] for text in row])
                for candidates, row in zip(predictions, references, strict=True)
                for caption in candidates
            ]
            both = [combined_match(*pair) for pair in zip(on_video, on_references, strict=True)]
            values |= match_columns(on_references, "reference_") | match_columns(both, "combined_")
        return self._as_result(values, sizes, n_truncated)

    def _has_references(self):
        return self.config_name == "references"

    def _check_frames_of_added_rows(self):
        added, given = self.load_options["frames"], self.options["frames"]
        if len(self) and given != added:
            raise ValueError(
                f"frames: expected {added!r}, with which the rows added before were encoded, got {given!r}. Give "
                "frames= to evaluate.load, or all rows to compute."
            )

    def _stored(self, keys):
        """What stands in the table for each row's video: its key, and for other processes its features once."""
        first = {key: row for row, key in reversed(list(enumerate(keys)))} if self.num_process > 1 else {}
        return [
            {"bytes": self.videos.features[key].tobytes() if first.get(key) == row else None, "path": key}
            for row, key in enumerate(keys)
        ]

    def _frame_features(self, videos):
        """Features of the frames by key: those of this process, and those that others have sent."""
        n_features = self.encoder.model.n_features
        sent = {
            video["path"]: np.frombuffer(video["bytes"], np.float32).reshape(-1, n_features)
            for video in videos
            if video["bytes"]
        }
        return self.videos.features | sent

    def _encode_texts(self, captions, references):
        """Tokens and weights of each distinct text, and how many texts were cut."""
        model, idf = self.encoder.model, self.options["idf"]
        tokens = {text: model.tokenize(text) for text in dict.fromkeys(captions + references)}
        weights, self.n_documents = EQUAL_WEIGHTS, None
        if idf is not False:
            documents = (tokens[text].ids for text in references or captions)
            vocabulary = model.tokenizer.encoder
            frequency = count_tokens(documents) if idf is True else load_token_frequency(idf, vocabulary)
            ends = model.tokenizer.sot_token_id, model.tokenizer.eot_token_id
            weights, self.n_documents = inverse_document_frequency(frequency, *ends), frequency.n_documents
        features = self.encoder.encode_tokens(tokens, self.options["batch_size"])
        texts = {text: Text(features[text], weights.of(ids.ids)) for text, ids in tokens.items()}
        return texts, sum(tokens[text].truncated for text in captions + references)

    def _match_references(self, caption, references):
        matches = [match_reference(caption, reference) for reference in references]
        return closest_reference(matches, self.options["reference_aggregation"])

    def _as_result(self, values, sizes, n_truncated):
        per_row = {name: row_means(scores, sizes) for name, scores in values.items()}
        # fsum is exact, so the order of the rows cannot change the last digit.
        result = {name: math.fsum(means) / len(means) for name, means in per_row.items()} | {"n_rows": len(sizes)}
        if self.options["details"]:
            result |= {f"{name}_per_row": means for name, means in per_row.items()}
            result |= {f"{name}_per_candidate": split_rows(v.tolist(), sizes) for name, v in values.items()}
            result |= {"n_truncated": n_truncated, "signature": self._signature()}
        return result

    def _signature(self):
        idf = self.options["idf"]
        counted = "references" if self._has_references() else "candidates"
        return signature(
            "emscore_pac",
            **self.encoder.signature_parts(),
            frames=self.options["frames"],
            decoder=decoder_name(),
            idf="none" if idf is False else counted if idf is True else "table",
            n_documents=self.n_documents,
            reference_aggregation=self.options["reference_aggregation"] if self._has_references() else None,
        )


def check_options(options):
    """Raise unless every option of this module has a legal value."""
    check_clip_options(options)
    variant_name(options.get("variant"), "variant")
    check_idf(options["idf"])
    check_choice("reference_aggregation", options["reference_aggregation"], REFERENCE_AGGREGATIONS)
    check_frames(options["frames"])
    check_flag("details", options["details"])


def check_config_name(config_name):
    """Raise unless the configuration is one of this module's."""
    if config_name not in CONFIG_NAMES:
        raise ValueError(
            f"config_name: expected one of {', '.join(CONFIG_NAMES)}, got {config_name!r}. The weights are chosen with "
            "variant=."
        )


def check_no_references(references):
    """Raise if references are given where they would have no effect; return the columns that remain: none."""
    if references is not None:
        raise ValueError(
            "references: expected none in the configuration 'default', got some. Load the module with "
            "config_name='references'."
        )
    return {}
