"""Codecs: what an update, or a model on its way down, is on the air."""
