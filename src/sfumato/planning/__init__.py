"""Planning: what a budget will buy, said before it is spent, from public facts alone."""
