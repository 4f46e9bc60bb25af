"""Episodes of what was learned: evaluations, films, policies, data sets, and the exact values to compare with."""
