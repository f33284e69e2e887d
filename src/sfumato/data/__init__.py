"""Values: schema, domain, records, marginals. No noise, no budget, no files."""
