"""All heads of a text as the browser shows them: what it is told of them, and the files with their weights.

    from attnviz.heads.all_heads import AllHeads

    every = AllHeads.of(trace, "encoder")
    header, arrays = every.payload(view)
    file = every.file(header["files"]["shared"])  # and so for each name in `files`, when the browser requests it

`frontend/heads/explorer.js` shows them. Nothing is imported here: most of it needs torch.
"""
