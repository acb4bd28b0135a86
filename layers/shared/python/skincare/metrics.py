"""Writes metrics: prints them in CloudWatch's embedded metric format.

Source: AWS, "Specification: CloudWatch embedded metric format".
"""

from collections.abc import Mapping, Sequence

from aws_lambda_powertools.metrics import EphemeralMetrics

from skincare.deployment.metrics import NAMESPACE, UNITS, Metric


def emit(values: Mapping[Metric, Sequence[float]], **dimensions: str) -> None:
    """Print metrics that share their dimensions; nothing where there is no value."""
    metrics = EphemeralMetrics(namespace=NAMESPACE, service="")  # or each would get a dimension `service`
    for name, value in dimensions.items():
        metrics.add_dimension(name, value)
    for metric, measured in values.items():
        for number in measured:
            metrics.add_metric(metric, UNITS.get(metric, "Count"), number)
    if metrics.metric_set:
        metrics.flush_metrics()
