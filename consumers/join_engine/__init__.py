"""The join engine: admits evidence-bound results, keeps conflicts, concludes in time."""
