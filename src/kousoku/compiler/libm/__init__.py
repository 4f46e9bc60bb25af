"""Writes elementary functions in LLVM IR: polynomials over lanes, without libm, tables in memory or branches on lanes.

Each function takes a builder and an operand ("float" or "double", varying or uniform) and returns an operand.
Special cases (NaN, infinities, signs of zero) are those of C's Annex F; `bounds.ULP_BOUNDS` states the accuracy.
Subnormal numbers are right as arguments and results unless `bounds` says otherwise; under a processor mode that flushes
them they count as zero.

The plan of most functions: an exact or nearly exact reduction of the argument, a minimax polynomial from `coefficients`
(made by tools/minimax.py), a reconstruction, and selects for what is left over. Fused multiply-adds are explicit.
Where code must not be contracted or the error of one operation is recovered, operations are marked `exact`.
"""
