"""The JSON Schemas (draft 7) of all documents that are read or written, as files, and the check against them."""
