"""Pictures: data sets of images."""
