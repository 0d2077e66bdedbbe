"""What the docstrings of several modules have in common: options, results, and citations of papers."""

CHAN_CITATION = """
@inproceedings{chan2022distribution,
  title={Distribution Aware Metrics for Conditional Natural Language Generation},
  author={Chan, David M. and Ni, Yiming and Ross, David A. and Vijayanarasimhan, Sudheendra
          and Myers, Austin and Canny, John F.},
  year={2022},
  eprint={2209.07518},
  archivePrefix={arXiv}
}
"""

WHATS_CITATION = """
@inproceedings{chan2022whats,
  title={What's in a Caption? Dataset-Specific Linguistic Diversity and Its Effect on Visual Description Models and
         Metrics},
  author={Chan, David M. and Myers, Austin and Vijayanarasimhan, Sudheendra and Ross, David A. and Seybold, Bryan
          and Canny, John F.},
  booktitle={CVPR Workshops},
  year={2022},
  eprint={2205.06253},
  archivePrefix={arXiv}
}
"""

PAC_CITATION = """
@inproceedings{sarto2023positive,
  title={Positive-Augmented Contrastive Learning for Image and Video Captioning Evaluation},
  author={Sarto, Sara and Barraco, Manuele and Cornia, Marcella and Baraldi, Lorenzo and Cucchiara, Rita},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year={2023}
}
"""

COCO_CITATION = """
@article{chen2015microsoft,
  title={Microsoft {COCO} Captions: Data Collection and Evaluation Server},
  author={Chen, Xinlei and Fang, Hao and Lin, Tsung-Yi and Vedantam, Ramakrishna and Gupta, Saurabh and Dollar, Piotr
          and Zitnick, C. Lawrence},
  journal={arXiv:1504.00325},
  year={2015}
}
"""

# Parts of a docstring by the line that stands for them; "NAME" is the module's name.
SHARED_PARTS = {
    "    <options of PAC>\n": """\
    long_captions: of captions that are longer than the checkpoint reads: "truncate" (default) drops their last words,
        "window" reads them in runs of whole sentences and takes the mean of these. Both are counted.
    batch_size: images encoded at once, default 64.
    n_workers: threads that decode images; default one for each processor core, at most 8.
    details: True adds per-row lists and the signature; default False.
    At load time only:
    variant: which weights: "pac-vit-b-32" (default), "pac-openclip-vit-l-14", "pac++-vit-b-32", "pac++-vit-l-14",
        "clip-vit-b-32", "clip-vit-l-14" or "clip-vit-l-14-336"; "pac-" may be left out. evaluate's second argument is a
        short form of it.
    <load options of CLIP>
""",
    "    <load options of CLIP>\n": """\
    checkpoint: a .pth, .pt or .safetensors file, a folder or a Hub repository instead of the published weights.
    model: a transformers.CLIPModel, or the folder of one, instead of the published weights.
    processor: the AutoProcessor of a model in memory, for its mean and deviation of pixels; default those of OpenAI.
    device: "auto" (default), or for example "cuda:0".
    dtype: "float32" (default) or "bfloat16".
    compile: True runs the encoders through torch.compile; default False.
""",
    "    <statistic>\n": """\
    statistic: "per_side" (default, one Q for each kind of triangle, as in the authors' program) or "pooled" (equation 4
        of the paper as printed, in which opposite deviations of the two kinds cancel).
""",
    "    <test options>\n": """\
    p_value: "none" (default), "exact" (all splits of a row) or "permutation" (n_resamples random ones).
    max_partitions: largest number of splits of a row for "exact", default 1,000,000.
    n_resamples: random splits of a row, and draws of the corpus test; default 9,999.
    confidence_level: for example 0.95 adds an interval of the mean over rows; default: no interval.
    clusters: one label per row, equal ones for rows that depend on each other; default: none do.
    seed: non-negative whole number, default 0.
    details: True adds per-row lists and the signature; default False.
""",
    "    <encoder>\n": """\
    encoder: name or folder of a sentence-transformers model, or a function from a list of distinct captions to a
        floating-point array of shape (n, d); default sentence-transformers/all-MiniLM-L6-v2.
""",
    "    <encoder options>\n": """\
    device: "auto" (default, the best available one), or for example "cuda:0".
    dtype: "float32" (default), "bfloat16" or "float16", for the model's arithmetic.
    batch_size: captions embedded at once, default 64.
    long_texts: of texts that are longer than the model reads (256 word pieces for the default): "truncate" (default) or
        "window", the mean over windows of whole sentences.
""",
    "    <CLIP options>\n": """\
    checkpoint: a .pth, .pt or .safetensors file, a folder or a Hub repository in place of its weights.
    long_captions: "truncate" (default) or "window", of captions that are longer than the CLIP reads, as in pac_score.
""",
    "    <images>\n": """\
    prediction_images, reference_images: images in place of predictions, of references or of both, for compute only:
        n_rows lists of images, or one list of images, which is one row: paths, bytes, PIL images, arrays, tensors
        or a `datasets` column. They, and captions beside them, become features of a CLIP, of length 1.
""",
    "    <long texts>\n": """\
    n_truncated: texts of which words were not read, of a model that says how much it reads; n_windowed: with
        long_texts="window", texts read in several windows.
""",
    "    <pooled results>\n": """\
    NAME_pooled: with pooled.
    NAME_pooled_p_value: with pooled and p_value; candidates and references exchanged within rows only, n_resamples
        times.
""",
    "    <test results>\n": """\
    NAME_corpus_p_value: with p_value; do the sets differ over all rows? p-value of the mean over rows: one split of
        every row is drawn, n_resamples times; at least 1 / (n_resamples + 1). One row keeps its own p-value.
    NAME_z, NAME_excess: with p_value; how far the mean over rows lies above its mean under all splits, in standard
        deviations of the null distribution (NaN where no split changes it), and in the statistic's own unit. Around 0
        for human captions, whatever their number.
    NAME_p_value, NAME_harmonic_mean_p: with p_value; the rows' p-values combined as in the paper, calibrated and raw.
        The harmonic mean cannot fall below NAME_smallest_p, however many rows there are.
    NAME_smallest_p, NAME_smallest_corpus_p: with p_value; the smallest p-value that any row, and the corpus, can have
        with sets of these sizes.
    NAME_ci_low, NAME_ci_high: with confidence_level; ends of the interval of NAME.
    NAME_excess_ci_low, NAME_excess_ci_high: with p_value as well; ends of the interval of NAME_excess.
""",
}


def with_shared_parts(name: str, description: str) -> str:
    r"""Return the description of a module's arguments and results with `SHARED_PARTS` in place of their lines.

    >>> with_shared_parts("trm", "Returns:\n    <pooled results>\n").split()[:2]
    ['Returns:', 'trm_pooled:']
    """
    for line, part in SHARED_PARTS.items():
        description = description.replace(line, part.replace("NAME", name))
    return description
