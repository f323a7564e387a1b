"""Rehearsal: a definition that is not in force is tried over what came before.

Its runs are runs like any other, in the same queue and as safe from a crash. They change
nothing, are given the answers of the runs that they rehearse, and count for nothing.
"""
