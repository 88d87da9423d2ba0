"""Nodes, types, inference, rewrites and printing; no array library is imported here."""
