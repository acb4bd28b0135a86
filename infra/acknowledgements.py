"""Findings of cdk-nag that are meant to be: each with its reason. A test tells which are no longer needed."""

import aws_cdk as cdk
from constructs import IConstruct


def acknowledge(scope: IConstruct, rule: str, reason: str) -> None:
    """Accept what a rule finds at a construct and below it."""
    _of(scope).acknowledge(cdk.Acknowledgment(id=rule, reason=reason))


def _of(scope: IConstruct) -> cdk.Validations:
    return cdk.Validations.of(scope)
