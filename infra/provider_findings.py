"""Findings about the functions that the CDK itself puts into a stack."""

import aws_cdk as cdk


def acknowledge_provider_findings(stack: cdk.Stack) -> None:
    """Acknowledge them."""
