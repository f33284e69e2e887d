"""Stage 4: make noisy tables agree with each other and lie in the world of counts. Post-processing."""
