"""EMScore with PAC encoders: how well captions fit their videos, and their references, at two scales."""

import evaluate

from .base import (
    PAC_CITATION,
    About,
    CollectionModule,
    check_choice,
    check_flag,
    scored_result,
    signature,
    with_shared_parts,
)
from .clip_encoder import (
    CLIP_CALL_DEFAULTS,
    CLIP_LOAD_DEFAULTS,
    ClipEncoder,
    check_clip_options,
    check_item_count,
    check_video_column,
    count_long_texts,
    encode_videos,
    features_of_rows,
    long_captions_name,
    stored_features,
)
from .clip_scores import (
    EQUAL_WEIGHTS,
    REFERENCE_AGGREGATIONS,
    check_idf,
    closest_reference,
    combined_match,
    count_tokens,
    inverse_document_frequency,
    load_token_frequency,
    match_columns,
    match_reference,
    match_video,
    text_of_windows,
)
from .videos import as_video_source, check_frames, decoder_name, video_size

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .caption_sets import exact_splits as exact_splits
from .clip_checkpoints import Treatment as Treatment
from .clip_model import read_weights as read_weights
from .embeddings import paired_cosines as paired_cosines
from .images import stored_value as stored_value
from .tokenization import Shape as Shape
from .vector_rows import EmbeddingRows as EmbeddingRows

_DESCRIPTION = """
EMScore scores video captions with the features of a CLIP: coarse, the cosine of the whole caption with the mean of the
frames, and fine, an F score of every word with its best frame and every frame with its best word. Here the CLIP is PAC,
tuned with positive-augmented contrastive learning. With references the same is done against their words. Higher is
better.
"""

_CITATION = (
    """
@inproceedings{shi2022emscore,
  title={EMScore: Evaluating Video Captioning via Coarse-Grained and Fine-Grained Embedding Matching},
  author={Shi, Yaya and Yang, Xu and Xu, Haiyang and Yuan, Chunfeng and Li, Bing and Hu, Weiming and Zha, Zheng-Jun},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year={2022}
}
""".rstrip()
    + PAC_CITATION
)

_KWARGS_DESCRIPTION = with_shared_parts(
    "emscore_pac",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    videos: n_rows videos: paths, encoded bytes, lists, arrays or tensors of images, arrays of frame features
        (n_frames, d), or a `datasets` column.
    references: n_rows lists of reference captions, or n_rows strings, with the configuration "references" only.
    idf: False (default) weights all tokens alike; True by their inverse document frequency in the references, without
        them in the candidates; or a table {"n_documents": 8092, "document_frequency": {"dog</w>": 312, ...}}, or the
        path of a JSON file with one.
    reference_aggregation: "authors" (default; the largest of each value by itself) or "equation_8" (the reference with
        the largest score).
    frames: "all" (default), or how many, evenly spread; the same for all rows of a compute.
    long_captions: of captions that are longer than the checkpoint reads: "truncate" (default) drops their last words,
        "window" reads them in runs of whole sentences; the whole caption is then the mean of these. Both are counted.
    batch_size: frames encoded at once, default 64.
    n_workers: videos decoded at the same time; default one for each processor core, at most 8.
    details: True adds per-row lists and the signature; default False.
    At load time only:
    config_name: "default" (video only) or "references".
    variant: "pac-vit-b-32" (default), "pac-openclip-vit-l-14", "pac++-vit-b-32", "pac++-vit-l-14", "clip-vit-b-32",
        "clip-vit-l-14" or "clip-vit-l-14-336"; "pac-" may be left out.
    <load options of CLIP>
Returns:
    emscore_pac: mean over rows of the mean over a row's candidates of (coarse + fine_f) / 2, at most 1 for positive
        cosines; higher is better.
    coarse: cosine of the whole caption and the whole video.
    fine_precision, fine_recall, fine_f: over words, over frames, and their harmonic mean.
    full_precision, full_recall: (coarse + fine_precision) / 2 and (coarse + fine_recall) / 2.
    n_rows: number of rows.
    n_truncated: captions of which words were not read; n_windowed: with "window", captions read in several windows.
    reference_..., combined_...: with references, each of these values against the references, and the mean of both.
    ..._per_row, ..._per_candidate, signature: with details.
Examples:
    >>> emscore = evaluate.load("metrics/emscore_pac", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> emscore.compute(predictions=["a dog runs"], videos=["dog.mp4"], frames=10)  # doctest: +SKIP
    >>> import numpy as np
    >>> caption = text_of_windows([np.array([[1.0, 0.0], [0.0, 1.0]])], [np.ones(2)])
    >>> match_video(caption, np.array([[0.0, 2.0]]))
    Match(coarse=1.0, fine_precision=0.5, fine_recall=1.0, fine_f=0.6666666666666666)
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class EmscorePac(CollectionModule, evaluate.Metric):
    """EMScore of captions and videos, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/2303.12112", "https://arxiv.org/abs/2111.08919"],
    )
    OWN_COLUMNS = ("predictions", "videos")
    # What a caption is compared with: its video, or also reference captions.
    CONFIG_COLUMNS = {"references": "references"}
    CONFIG_NAMES = ("references",)
    DEFAULTS = {
        "idf": False,
        "reference_aggregation": "authors",
        "frames": "all",
        "details": False,
        **CLIP_CALL_DEFAULTS,
        **CLIP_LOAD_DEFAULTS,
    }
    LOAD_OPTIONS = frozenset(CLIP_LOAD_DEFAULTS)

    def __init__(self, /, *args, **keywords):
        super().__init__(*args, **keywords)
        self.encoder = ClipEncoder(self.load_options, evaluate.utils.logging.tqdm)

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_clip_options(options)
        check_idf(options["idf"])
        check_choice("reference_aggregation", options["reference_aggregation"], REFERENCE_AGGREGATIONS)
        check_frames(options["frames"])
        check_flag("details", options["details"])

    def checked_columns(self, options, videos, **captions):
        """Check the captions and encode the videos now: only their features are kept, in place of the videos."""
        if not len(self):  # rows of one call have one model
            self.encoder.renew()
        columns = super().checked_columns(options, **captions)
        if "references" not in columns:
            self.check_unused(options, ["reference_aggregation"], "without references (config_name='references')")
        check_video_column(videos, "videos")
        settings = (options[name] for name in ("frames", "batch_size", "n_workers"))
        features = encode_videos(self.encoder, videos, "videos", *settings)
        check_item_count(len(columns["predictions"]), len(features), "video")
        return {"videos": stored_features(features), **columns}

    def call_options(self, given):
        """Return the options of a call; rows that were added before have their frames already."""
        options, added = super().call_options(given), self.load_options["frames"]
        if len(self) and options["frames"] != added:
            raise ValueError(
                f"frames: expected {added!r}, with which the rows added before were encoded, got "
                f"{options['frames']!r}. Give frames= to evaluate.load, or all rows to compute."
            )
        return options

    def examine_video(self, video):
        """Return the seconds, frames, width and height of a video file, a path or bytes, without decoding it."""
        return video_size(as_video_source(video, "video"), "video")

    def _compute(self, predictions, videos, options, references=None):
        sizes = [len(row) for row in predictions]
        captions = [caption for row in predictions for caption in row]
        others = [text for row in references for text in row] if references else []
        read = self.encoder.read_texts(dict.fromkeys(captions + others), options["long_captions"])
        weights, n_documents = self._weights(read, captions, others, options)
        parts = {part: tokens for own in read.values() for part, tokens in zip(own.parts, own.tokens, strict=True)}
        features = self.encoder.encode_tokens(parts, options["batch_size"])
        texts = {
            text: text_of_windows(
                [features[part] for part in own.parts], [weights.of(tokens.ids) for tokens in own.tokens]
            )
            for text, own in read.items()
        }
        frames = features_of_rows(videos, self.encoder.model.n_features)
        on_video = [
            match_video(texts[caption], features)
            for row, features in zip(predictions, frames, strict=True)
            for caption in row
        ]
        values = match_columns(on_video)
        if references:
            on_references = [
                closest_reference(
                    [match_reference(texts[caption], texts[text]) for text in row], options["reference_aggregation"]
                )
                for candidates, row in zip(predictions, references, strict=True)
                for caption in candidates
            ]
            both = [combined_match(*pair) for pair in zip(on_video, on_references, strict=True)]
            values |= match_columns(on_references, "reference_") | match_columns(both, "combined_")
        result = scored_result(values, sizes, options["details"])
        result |= count_long_texts([read[text] for text in captions + others], options["long_captions"])
        return result | ({"signature": self._signature(options, n_documents)} if options["details"] else {})

    def _has_references(self):
        return self.config_name == "references"

    def _weights(self, read, captions, references, options):
        """Weights of tokens, and in how many documents they were counted."""
        if options["idf"] is False:
            return EQUAL_WEIGHTS, None
        tokenizer = self.encoder.model.tokenizer
        if options["idf"] is True:
            frequency = count_tokens(read[text].joined_ids() for text in references or captions)
        else:
            frequency = load_token_frequency(options["idf"], tokenizer.encoder)
        ends = tokenizer.sot_token_id, tokenizer.eot_token_id
        return inverse_document_frequency(frequency, *ends), frequency.n_documents

    def _signature(self, options, n_documents):
        idf = options["idf"]
        counted = "references" if self._has_references() else "candidates"
        return signature(
            "emscore_pac",
            **self.encoder.signature_parts(),
            frames=options["frames"],
            decoder=decoder_name(),
            idf="none" if idf is False else counted if idf is True else "table",
            n_documents=n_documents,
            reference_aggregation=options["reference_aggregation"] if self._has_references() else None,
            long_captions=long_captions_name(options),
        )
