"""Many parties: one study over tables that stay where they are. Only masked, noised counts travel."""
