"""What all sessions of a process share: workers, caches, page lock, arrays for browsers, training jobs, rate limits."""
