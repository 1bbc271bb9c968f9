"""Ways in: foreign alert formats and producers of outside facts and wishes."""
