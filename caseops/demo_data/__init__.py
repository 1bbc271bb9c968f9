"""The payment incident as a case folder, made from a seed: no file of it is under git."""
