"""Models: tables that can be asked for other tables, fitted and sampled. They see noisy tables and never rows."""
