"""EMScore with PAC encoders: how well captions fit their videos, and their references, at two scales."""

import evaluate

from .arrays import build_result
from .clip_emscore import (
    EQUAL_WEIGHTS,
    REFERENCE_AGGREGATIONS,
    check_idf,
    check_video_column,
    closest_reference,
    combined_match,
    count_tokens,
    encode_videos,
    inverse_document_frequency,
    load_token_frequency,
    match_columns,
    match_reference,
    match_video,
    text_of_windows,
)
from .clip_encoder import (
    CLIP_CALL_OPTIONS,
    CLIP_LOAD_OPTIONS,
    LONG_CAPTION_VALUES,
    ClipEncoder,
    as_stored_features,
    check_item_count,
    count_unread,
    features_of_rows,
    long_captions_name,
)
from .errors import InputError
from .module import CollectionModule, signature
from .options import DETAILS, PAC_CITATION, About, Option, by_value, one_of, value_table
from .rows import CAPTIONS
from .videos import as_video_source, check_frames, decoder_name, video_size

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .clip_checkpoints import Treatment as Treatment
from .clip_model import weights_error as weights_error
from .files import inline_bytes as inline_bytes
from .images import unwrap_value as unwrap_value
from .row_images import text_key as text_key
from .vectors_models import RememberedFeatures as RememberedFeatures
from .vectors_sentences import paired_cosines as paired_cosines
from .words_ptb import Shape as Shape

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

_EXAMPLES = """
>>> import numpy as np
>>> emscore = evaluate.load("metrics/emscore_pac")  # on the Hub: "manycaps/emscore_pac"
>>> caption = text_of_windows([np.array([[1.0, 0.0], [0.0, 1.0]])], [np.ones(2)])
>>> match_video(caption, np.array([[0.0, 2.0]]))
Match(coarse=1.0, fine_precision=0.5, fine_recall=1.0, fine_f=0.6666666666666666)
"""


def encode_video_column(module, videos, options, n_rows):
    """Encode a column of videos when it is added: only their features are kept, in place of the videos."""
    if not len(module):  # rows of one call have one model
        module.encoder.renew()
    check_frames_of_added(module, len(module), options)
    if module.config_name != "references":
        module.check_unused(options, ["reference_aggregation"], "without references (config_name='references')")
    check_video_column(videos)
    settings = (options[name] for name in ("frames", "batch_size", "n_workers"))
    features = encode_videos(module.encoder, videos, "videos", *settings)
    check_item_count(n_rows, len(features), "video")
    return as_stored_features(features)


def check_frames_of_added(module, n_added, options):
    """Raise if rows that were added before were encoded with another number of frames."""
    added = module.load_options["frames"]
    if n_added and options["frames"] != added:
        expected, fix = (
            f"{added!r}, as for the rows added before",
            "Give frames= to evaluate.load, or all rows to compute.",
        )
        raise InputError("frames", expected, repr(options["frames"]), fix)


class EmscorePac(CollectionModule, evaluate.Metric):
    """EMScore of captions and videos, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION, _CITATION, _EXAMPLES, ["https://arxiv.org/abs/2303.12112", "https://arxiv.org/abs/2111.08919"]
    )
    COLUMNS = CAPTIONS | {
        "videos": (
            "n_rows videos: a path, the bytes of a file, its frames as images (a list of them, or an array or "
            "tensor of shape (n_frames, height, width, 3)), a `datasets` column of `Video(decode=False)`, or of "
            "`Video()`, which `datasets` decodes with torchcodec (`pip install torchcodec`), or an array of "
            "floats of shape (n_frames, d) with the features of the frames. Any iterable is accepted, including a "
            "generator. A web address is refused."
        ),
        "references": (
            'n_rows lists of human captions, or n_rows strings, with the configuration `"references"` only.'
        ),
    }
    OPTIONS = (
        {
            "idf": Option(
                False,
                by_value(check_idf),
                "`False` weights all tokens alike; `True` by their inverse document frequency in the references or, "
                "without references, in the candidates, each caption being one document: a row's score then depends "
                'on the other rows\' words. Or a table of a corpus, `{"n_documents": 8092, "document_frequency": '
                '{"dog</w>": 312, ...}}`, or the path of its JSON file, which `manycaps count-token-frequency` makes. '
                "The published numbers use the English training captions of VATEX.",
            ),
            "reference_aggregation": Option(
                "authors",
                one_of(REFERENCE_AGGREGATIONS),
                '`"authors"` (the largest P, R, F and coarse value over the references, each by itself, as the '
                'authors\' program does) or `"equation_8"` (the reference with the largest score).',
            ),
            "frames": Option(
                "all",
                by_value(check_frames),
                '`"all"`, or a number of them, evenly spread by the authors\' rule (`linspace(0, n - 1, frames)`, '
                "rounded down, so the first and the last frame are always included, and some frames of a short clip "
                "occur twice). The published VATEX-EVAL numbers use 10. Rows that are added before `compute` use the "
                "number given at load time.",
            ),
        }
        | CLIP_CALL_OPTIONS
        | DETAILS
        | CLIP_LOAD_OPTIONS
    )
    VALUES = (
        value_table("""
        * emscore_pac | at most 1; at least 0 for positive cosines | higher | mean over rows of the mean over a row's
            candidates of (coarse + fine_f) / 2
        * coarse | -1 to 1 | higher | cosine of the whole caption and the whole video; NaN where the frames' features
            cancel out
        fine_precision, fine_recall | -1 to 1 | higher | over words, the cosine of each with its best frame, and over
            frames, with its best word
        * fine_f | | higher | 2 P R / (P + R), between P and R where both are positive; no bounds where they have
            opposite signs
        full_precision, full_recall | | higher | (coarse + fine_precision) / 2 and (coarse + fine_recall) / 2
        n_rows | | | number of rows
        reference_..., combined_... | | higher | with the configuration `"references"`: each of these values against the
            references, and the mean of both sides. The combined score is the one that papers report
        ..._per_row, ..._per_candidate | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
        + LONG_CAPTION_VALUES
    )
    # What a caption is compared with: its video, or also reference captions.
    CONFIG_COLUMNS = {"references": "references"}

    PARTS = {"encoder": lambda module: ClipEncoder(module.load_options, module.progress)}
    ENCODERS = {"videos": encode_video_column}

    def examine_video(self, video):
        """Return the seconds, frames, width and height of a video file, a path or bytes, without decoding it."""
        return video_size(as_video_source(video, "video"), "video")

    def result(self, predictions, videos, options, references=None):
        """Compare captions with frames, and with references if there are any, and return the result."""
        check_frames_of_added(self, len(self.added), options)
        sizes = [len(row) for row in predictions]
        captions = [caption for row in predictions for caption in row]
        others = [text for row in references for text in row] if references else []
        read = self.encoder.read_texts(dict.fromkeys(captions + others), options["long_captions"])
        weights, n_documents = self._weights(read, captions, others, options)
        parts = {part: tokens for own in read.values() for part, tokens in zip(own.parts, own.tokens, strict=True)}
        features = self.encoder.encode_tokens(parts, options["batch_size"])
        texts = {
            text: text_of_windows(
                [features[part] for part in own.parts], [weights.token_weights(tokens.ids) for tokens in own.tokens]
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
        result = build_result(values, sizes, options["details"])
        result |= count_unread([read[text] for text in captions + others], options["long_captions"])
        return result | ({"signature": self._signature(options, n_documents)} if options["details"] else {})

    def _has_references(self):
        return self.config_name == "references"

    def _weights(self, read, captions, references, options):
        """Weights of tokens, and in how many documents they were counted."""
        if options["idf"] is False:
            return EQUAL_WEIGHTS, None
        tokenizer = self.encoder.model.tokenizer
        if options["idf"] is True:
            frequency = count_tokens(read[text].join_ids() for text in references or captions)
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
