"""CIDEr-D of the COCO caption code: pycocoevalcap's own class, under the document frequencies of other captions."""

import numpy as np
from pycocoevalcap.cider.cider_scorer import CiderScorer


class CorpusScorer(CiderScorer):
    """The scorer with the document frequencies and the number of documents of a corpus, not of what it scores."""

    @property
    def ref_len(self):
        """Logarithm of the number of documents, which the class would set to the number of scored rows."""
        return np.log(float(self.n_documents))

    @ref_len.setter
    def ref_len(self, value):
        pass


def document_scorer(documents):
    """Count n-grams in documents, each a list of token lists."""
    scorer = CorpusScorer()
    for document in documents:
        scorer += (None, [" ".join(tokens) for tokens in document])
    scorer.compute_doc_freq()
    scorer.n_documents = len(scorer.crefs)
    return scorer


def pair_score(scorer, candidate, references):
    """Score one token list against one or several."""
    scorer.crefs, scorer.ctest = [], []
    scorer += (" ".join(candidate), [" ".join(reference) for reference in references])
    return float(scorer.compute_cider()[0])
