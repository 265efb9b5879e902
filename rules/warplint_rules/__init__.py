"""The rules that come with Warplint: one file a rule, grouped by family, found by place."""
