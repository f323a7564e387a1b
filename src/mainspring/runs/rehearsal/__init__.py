"""Rehearsal: tries a candidate definition on earlier firings.

Its runs are normal runs, in the same queue and equally crash-safe. They change nothing, are
answered from the record of the runs that they rehearse, and do not count in statistics.
"""
