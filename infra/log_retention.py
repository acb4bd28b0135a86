"""How long logs are kept."""

from aws_cdk import aws_logs as logs

_DAYS = {
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
}


def retention(days: int) -> logs.RetentionDays:
    """Return CloudWatch's word for a number of days; it knows only some numbers."""
    return _DAYS[days]
