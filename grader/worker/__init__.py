"""The untrusted side: runs a submission's code on calls and claims what came back.

Nothing here may import any other part of grader: this package knows no key and no verdict.
"""
