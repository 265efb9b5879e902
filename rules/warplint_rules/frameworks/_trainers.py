"""The classes that set up training in Transformers and Lightning."""

from __future__ import annotations

TRAINING_ARGUMENTS = frozenset(
    {
        "transformers.TrainingArguments",
        "transformers.Seq2SeqTrainingArguments",
        "transformers.training_args.TrainingArguments",
        "sentence_transformers.SentenceTransformerTrainingArguments",
        "sentence_transformers.training_args.SentenceTransformerTrainingArguments",
        "sentence_transformers.cross_encoder.CrossEncoderTrainingArguments",
        "sentence_transformers.cross_encoder.training_args.CrossEncoderTrainingArguments",
        "sentence_transformers.sparse_encoder.SparseEncoderTrainingArguments",
        "sentence_transformers.sparse_encoder.training_args.SparseEncoderTrainingArguments",
    }
)
"""Arguments of Transformers' ``Trainer`` and of trainers that derive from it without another default."""

LIGHTNING_TRAINERS = frozenset({"lightning.Trainer", "lightning.pytorch.Trainer"})
