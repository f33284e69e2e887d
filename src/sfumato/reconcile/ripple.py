"""Ripple non-negativity: what a negative cell owes is taken from its neighbours (PriView)."""
