"""Seeded generators of the toy data sets, a module for each chapter that needs some."""
