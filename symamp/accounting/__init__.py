"""The privacy profile of a round and its accounting: many rounds, Renyi divergences, trade-off functions, exports."""
