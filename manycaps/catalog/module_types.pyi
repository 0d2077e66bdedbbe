"""Types of `manycaps.load`, by name of the module. Written by `make format`."""

from collections.abc import Iterable
from typing import Any, Literal, Protocol, overload

import datasets

def load_sample() -> datasets.Dataset: ...

class Module(Protocol):
    """What all modules have."""

    name: str
    def add(self, /, **row: Any) -> None: ...
    def add_batch(self, /, **columns: Any) -> None: ...
    def __len__(self) -> int: ...

class HumanParity(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        distances: Iterable[Any] | None = None,
        n_candidates: Iterable[Any] | None = None,
        distance: Any = 'bert',
        tokenizer: Any = 'ptb',
        language: Any = 'en',
        language_model: Any = None,
        document_frequency: Any = None,
        meteor15_data: Any = None,
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        p_value: Any = 'chi-squared',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Wording(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        tokenizer: Any = 'ptb',
        language_model: Any = None,
        confidence_level: Any = None,
        clusters: Any = None,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class TrmMeteor(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        statistic: Any = 'per_side',
        meteor: Any = 'nltk',
        meteor15_data: Any = None,
        tokenizer: Any = 'ptb',
        p_value: Any = 'none',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Meteor15(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        tokenizer: Any = 'ptb',
        language: Any = 'en',
        function_words: Any = 'english',
        paraphrases: Any = None,
        meteor15_data: Any = None,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class TrmCider(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        statistic: Any = 'per_side',
        tokenizer: Any = 'ptb',
        document_frequency: Any = None,
        p_value: Any = 'none',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class TrmBert(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        statistic: Any = 'per_side',
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        p_value: Any = 'none',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Trm(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        prediction_images: Iterable[Any] | None = None,
        reference_images: Iterable[Any] | None = None,
        distances: Iterable[Any] | None = None,
        n_candidates: Iterable[Any] | None = None,
        distance: Any = 'cosine',
        evaluate_scores: Any = 'similarity',
        statistic: Any = 'per_side',
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        variant: Any = None,
        checkpoint: Any = None,
        long_captions: Any = 'truncate',
        p_value: Any = 'none',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Mmd(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        prediction_images: Iterable[Any] | None = None,
        reference_images: Iterable[Any] | None = None,
        kernels: Iterable[Any] | None = None,
        n_candidates: Iterable[Any] | None = None,
        kernel: Any = 'rbf',
        sigma: Any = 'median',
        degree: int | None = 3,
        gamma: Any = None,
        coef0: Any = 1.0,
        estimator: Any = 'unbiased',
        pooled: bool | None = False,
        preset: Any = None,
        n_subsets: int | None = 100,
        subset_size: int | None = 1000,
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        variant: Any = None,
        checkpoint: Any = None,
        long_captions: Any = 'truncate',
        p_value: Any = 'none',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class MmdBert(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        estimator: Any = 'unbiased',
        sigma: Any = 'median',
        pooled: bool | None = False,
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        p_value: Any = 'none',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class FidBert(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        pooled: bool | None = False,
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        p_value: Any = 'none',
        max_partitions: int | None = 1000000,
        n_resamples: int | None = 9999,
        confidence_level: Any = None,
        clusters: Any = None,
        seed: int | None = 0,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class DensityCoverage(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        nearest_k: Any = None,
        n_splits: int | None = 10,
        seed: int | None = 0,
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class BleuRouge(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        tokenizer: Any = 'ptb',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class CiderD(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        tokenizer: Any = 'ptb',
        document_frequency: Any = None,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class CocoCaption(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        tokenizer: Any = 'ptb',
        language: Any = 'en',
        document_frequency: Any = None,
        meteor15_data: Any = None,
        best_of: bool | None = False,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Chair(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        objects: Any = None,
        vocabulary: Any = None,
        tokenizer: Any = None,
        confidence_level: Any = None,
        clusters: Any = None,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class PacScore(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        images: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        retrieval: bool | None = False,
        prompt: Any = 'A photo depicts',
        weight: Any = 2.0,
        batch_size: int | None = 64,
        n_workers: Any = None,
        long_captions: Any = 'truncate',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class RefPacScore(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        images: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        prompt: Any = 'A photo depicts',
        weight: Any = 2.0,
        batch_size: int | None = 64,
        n_workers: Any = None,
        long_captions: Any = 'truncate',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Mid(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        images: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        prediction_embeddings: Iterable[Any] | None = None,
        reference_embeddings: Iterable[Any] | None = None,
        epsilon: Any = 0.0005,
        n_splits: int | None = 10,
        seed: int | None = 0,
        prompt: Any = 'A photo depicts',
        batch_size: int | None = 64,
        n_workers: Any = None,
        long_captions: Any = 'truncate',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class EmscorePac(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        videos: Iterable[Any] | None = None,
        idf: bool | None = False,
        reference_aggregation: Any = 'authors',
        frames: Any = 'all',
        batch_size: int | None = 64,
        n_workers: Any = None,
        long_captions: Any = 'truncate',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class SetDiversity(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        tokenizer: Any = 'ptb',
        document_frequency: Any = None,
        kernels: Any = ...,
        vendi_orders: Any = ...,
        sizes: Any = 'equal',
        equivalent: Any = None,
        k: Any = None,
        classes: Any = 'connected',
        answer_order: Any = 'any',
        quality: Any = None,
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        confidence_level: Any = None,
        clusters: Any = None,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Homogeneity(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        others: Any = None,
        distance: Any = 'ngram',
        equivalent: Any = 0.3,
        classes: Any = 'first',
        tokenizer: Any = 'ptb',
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        p_value: Any = 'chi-squared',
        n_resamples: int | None = 9999,
        seed: int | None = 0,
        confidence_level: Any = None,
        clusters: Any = None,
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class Novelty(Module, Protocol):


    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        training: Any = 'references',
        tokenizer: Any = 'ptb',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class VdtkConceptOverlap(Module, Protocol):


    def compute(
        self,
        *,
        data: Iterable[Any] | None = None,
        labels: Any = None,
        transfer: bool | None = False,
        training: Any = None,
        tokenizer: Any = 'ptb',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class VdtkDiversity(Module, Protocol):


    def compute(
        self,
        *,
        data: Iterable[Any] | None = None,
        tokenizer: Any = 'ptb',
        head_shares: Any = ...,
        lengths: Any = ...,
        pos: Any = None,
        semantic: bool | None = False,
        encoder: Any = None,
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

class VdtkLeaveOneOut(Module, Protocol):


    def compute(
        self,
        *,
        data: Iterable[Any] | None = None,
        data_embeddings: Iterable[Any] | None = None,
        metrics: Any = ...,
        n_iterations: int | None = 750,
        n_references: Any = None,
        n_hypotheses: int | None = 1,
        confidence_level: Any = 0.95,
        seed: int | None = 0,
        pos: Any = None,
        head_share: Any = 1.0,
        tokenizer: Any = 'ptb',
        meteor15_data: Any = None,
        estimator: Any = 'unbiased',
        encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
        device: Any = 'auto',
        dtype: Any = 'float32',
        batch_size: int | None = 64,
        long_texts: Any = 'truncate',
        details: bool | None = False,
    ) -> dict[str, Any]: ...

@overload
def load(
    name: Literal["human_parity"],
    config_name: str | None = None,
    *,
    distance: Any = 'bert',
    tokenizer: Any = 'ptb',
    language: Any = 'en',
    language_model: Any = None,
    document_frequency: Any = None,
    meteor15_data: Any = None,
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    p_value: Any = 'chi-squared',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> HumanParity: ...

@overload
def load(
    name: Literal["wording"],
    config_name: str | None = None,
    *,
    tokenizer: Any = 'ptb',
    language_model: Any = None,
    confidence_level: Any = None,
    clusters: Any = None,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Wording: ...

@overload
def load(
    name: Literal["trm_meteor"],
    config_name: str | None = None,
    *,
    statistic: Any = 'per_side',
    meteor: Any = 'nltk',
    meteor15_data: Any = None,
    tokenizer: Any = 'ptb',
    p_value: Any = 'none',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> TrmMeteor: ...

@overload
def load(
    name: Literal["meteor15"],
    config_name: str | None = None,
    *,
    tokenizer: Any = 'ptb',
    language: Any = 'en',
    function_words: Any = 'english',
    paraphrases: Any = None,
    meteor15_data: Any = None,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Meteor15: ...

@overload
def load(
    name: Literal["trm_cider"],
    config_name: str | None = None,
    *,
    statistic: Any = 'per_side',
    tokenizer: Any = 'ptb',
    document_frequency: Any = None,
    p_value: Any = 'none',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> TrmCider: ...

@overload
def load(
    name: Literal["trm_bert"],
    config_name: str | None = None,
    *,
    statistic: Any = 'per_side',
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    p_value: Any = 'none',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> TrmBert: ...

@overload
def load(
    name: Literal["trm"],
    config_name: str | None = None,
    *,
    distance: Any = 'cosine',
    evaluate_scores: Any = 'similarity',
    statistic: Any = 'per_side',
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    variant: Any = None,
    checkpoint: Any = None,
    long_captions: Any = 'truncate',
    p_value: Any = 'none',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Trm: ...

@overload
def load(
    name: Literal["mmd"],
    config_name: str | None = None,
    *,
    kernel: Any = 'rbf',
    sigma: Any = 'median',
    degree: int | None = 3,
    gamma: Any = None,
    coef0: Any = 1.0,
    estimator: Any = 'unbiased',
    pooled: bool | None = False,
    preset: Any = None,
    n_subsets: int | None = 100,
    subset_size: int | None = 1000,
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    variant: Any = None,
    checkpoint: Any = None,
    long_captions: Any = 'truncate',
    p_value: Any = 'none',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Mmd: ...

@overload
def load(
    name: Literal["mmd_bert"],
    config_name: str | None = None,
    *,
    estimator: Any = 'unbiased',
    sigma: Any = 'median',
    pooled: bool | None = False,
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    p_value: Any = 'none',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> MmdBert: ...

@overload
def load(
    name: Literal["fid_bert"],
    config_name: str | None = None,
    *,
    pooled: bool | None = False,
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    p_value: Any = 'none',
    max_partitions: int | None = 1000000,
    n_resamples: int | None = 9999,
    confidence_level: Any = None,
    clusters: Any = None,
    seed: int | None = 0,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> FidBert: ...

@overload
def load(
    name: Literal["density_coverage"],
    config_name: str | None = None,
    *,
    nearest_k: Any = None,
    n_splits: int | None = 10,
    seed: int | None = 0,
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> DensityCoverage: ...

@overload
def load(
    name: Literal["bleu_rouge"],
    config_name: str | None = None,
    *,
    tokenizer: Any = 'ptb',
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> BleuRouge: ...

@overload
def load(
    name: Literal["cider_d"],
    config_name: str | None = None,
    *,
    tokenizer: Any = 'ptb',
    document_frequency: Any = None,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> CiderD: ...

@overload
def load(
    name: Literal["coco_caption"],
    config_name: str | None = None,
    *,
    tokenizer: Any = 'ptb',
    language: Any = 'en',
    document_frequency: Any = None,
    meteor15_data: Any = None,
    best_of: bool | None = False,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> CocoCaption: ...

@overload
def load(
    name: Literal["chair"],
    config_name: str | None = None,
    *,
    objects: Any = None,
    vocabulary: Any = None,
    tokenizer: Any = None,
    confidence_level: Any = None,
    clusters: Any = None,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Chair: ...

@overload
def load(
    name: Literal["pac_score"],
    config_name: str | None = None,
    *,
    retrieval: bool | None = False,
    prompt: Any = 'A photo depicts',
    weight: Any = 2.0,
    batch_size: int | None = 64,
    n_workers: Any = None,
    long_captions: Any = 'truncate',
    details: bool | None = False,
    variant: Any = None,
    checkpoint: Any = None,
    model: Any = None,
    processor: Any = None,
    device: Any = 'auto',
    dtype: Any = 'float32',
    compile: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> PacScore: ...

@overload
def load(
    name: Literal["ref_pac_score"],
    config_name: str | None = None,
    *,
    prompt: Any = 'A photo depicts',
    weight: Any = 2.0,
    batch_size: int | None = 64,
    n_workers: Any = None,
    long_captions: Any = 'truncate',
    details: bool | None = False,
    variant: Any = None,
    checkpoint: Any = None,
    model: Any = None,
    processor: Any = None,
    device: Any = 'auto',
    dtype: Any = 'float32',
    compile: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> RefPacScore: ...

@overload
def load(
    name: Literal["mid"],
    config_name: str | None = None,
    *,
    epsilon: Any = 0.0005,
    n_splits: int | None = 10,
    seed: int | None = 0,
    prompt: Any = 'A photo depicts',
    batch_size: int | None = 64,
    n_workers: Any = None,
    long_captions: Any = 'truncate',
    details: bool | None = False,
    variant: Any = None,
    checkpoint: Any = None,
    model: Any = None,
    processor: Any = None,
    device: Any = 'auto',
    dtype: Any = 'float32',
    compile: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Mid: ...

@overload
def load(
    name: Literal["emscore_pac"],
    config_name: str | None = None,
    *,
    idf: bool | None = False,
    reference_aggregation: Any = 'authors',
    frames: Any = 'all',
    batch_size: int | None = 64,
    n_workers: Any = None,
    long_captions: Any = 'truncate',
    details: bool | None = False,
    variant: Any = None,
    checkpoint: Any = None,
    model: Any = None,
    processor: Any = None,
    device: Any = 'auto',
    dtype: Any = 'float32',
    compile: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> EmscorePac: ...

@overload
def load(
    name: Literal["set_diversity"],
    config_name: str | None = None,
    *,
    tokenizer: Any = 'ptb',
    document_frequency: Any = None,
    kernels: Any = ...,
    vendi_orders: Any = ...,
    sizes: Any = 'equal',
    equivalent: Any = None,
    k: Any = None,
    classes: Any = 'connected',
    answer_order: Any = 'any',
    quality: Any = None,
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    confidence_level: Any = None,
    clusters: Any = None,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> SetDiversity: ...

@overload
def load(
    name: Literal["homogeneity"],
    config_name: str | None = None,
    *,
    others: Any = None,
    distance: Any = 'ngram',
    equivalent: Any = 0.3,
    classes: Any = 'first',
    tokenizer: Any = 'ptb',
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    p_value: Any = 'chi-squared',
    n_resamples: int | None = 9999,
    seed: int | None = 0,
    confidence_level: Any = None,
    clusters: Any = None,
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Homogeneity: ...

@overload
def load(
    name: Literal["novelty"],
    config_name: str | None = None,
    *,
    training: Any = 'references',
    tokenizer: Any = 'ptb',
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> Novelty: ...

@overload
def load(
    name: Literal["vdtk_concept_overlap"],
    config_name: str | None = None,
    *,
    labels: Any = None,
    transfer: bool | None = False,
    training: Any = None,
    tokenizer: Any = 'ptb',
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> VdtkConceptOverlap: ...

@overload
def load(
    name: Literal["vdtk_diversity"],
    config_name: str | None = None,
    *,
    tokenizer: Any = 'ptb',
    head_shares: Any = ...,
    lengths: Any = ...,
    pos: Any = None,
    semantic: bool | None = False,
    encoder: Any = None,
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> VdtkDiversity: ...

@overload
def load(
    name: Literal["vdtk_leave_one_out"],
    config_name: str | None = None,
    *,
    metrics: Any = ...,
    n_iterations: int | None = 750,
    n_references: Any = None,
    n_hypotheses: int | None = 1,
    confidence_level: Any = 0.95,
    seed: int | None = 0,
    pos: Any = None,
    head_share: Any = 1.0,
    tokenizer: Any = 'ptb',
    meteor15_data: Any = None,
    estimator: Any = 'unbiased',
    encoder: Any = 'sentence-transformers/all-MiniLM-L6-v2',
    device: Any = 'auto',
    dtype: Any = 'float32',
    batch_size: int | None = 64,
    long_texts: Any = 'truncate',
    details: bool | None = False,
    keep_in_memory: Any = ...,
    cache_dir: Any = ...,
    experiment_id: Any = ...,
    num_process: Any = ...,
    process_id: Any = ...,
) -> VdtkLeaveOneOut: ...

@overload
def load(name: str, config_name: str | None = None, **options: Any) -> Any: ...
