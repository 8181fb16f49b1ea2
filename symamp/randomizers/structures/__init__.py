"""Shapes that many families share; each turns a short description into orbits of messages."""
