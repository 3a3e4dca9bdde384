"""Shared by all sessions of a process: workers, caches, page lock, arrays for browsers, training jobs, rate limits."""
