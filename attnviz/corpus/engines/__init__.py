"""Where the blocks of a corpus are read: in processes of this machine, or on a Ray cluster.

An engine is a function that takes a job and blocks, and yields what each block gave, in any order, each once.
"""
