"""Document frequencies of a module's call: counted in its references, or out of a table that stays loaded."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .text_cider import document_frequencies
from .text_document_frequency import DocumentFrequency, LoadedTable, check_enough_documents, reloaded_table
from .text_reference_ngrams import warn_of_equal_documents
from .text_tokens import ngram_tokens


class CountsDocuments:
    """What a module with the options `document_frequency` and `tokenizer` has besides."""

    CACHED: ClassVar[frozenset[str]] = frozenset({"table"})
    table: LoadedTable | None = None

    def document_frequency(self, references: Sequence[Sequence[str]], options: Mapping[str, Any]) -> DocumentFrequency:
        """Return the frequencies that the options ask for, by default those of n_rows lists of references."""
        source = options["document_frequency"]
        if source is None:
            check_enough_documents(len(references))
            tokens = ngram_tokens(references, options["tokenizer"])
            warn_of_equal_documents(tokens)
            return DocumentFrequency(document_frequencies(tokens), len(references))
        self.table = reloaded_table(source, self.table)
        return self.table.frequency


def frequency_settings(frequency: DocumentFrequency, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the frequencies, for a signature."""
    source = "references" if options["document_frequency"] is None else "table"
    return {"document_frequency": source, "n_documents": frequency.n_documents}
