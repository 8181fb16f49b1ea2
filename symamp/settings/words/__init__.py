"""The words of ``symamp.participation``: one declaration each, found by this folder."""
