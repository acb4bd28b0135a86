"""What an alarm is: when it fires, and the text of its mail."""

from dataclasses import dataclass
from datetime import timedelta

from skincare.deployment.log_events import CountedEvent
from skincare.deployment.metrics import Metric

MINUTE = timedelta(minutes=1)
COUNTING = timedelta(minutes=5)
"""The time over which events such as failed items are counted."""


@dataclass(frozen=True, kw_only=True)
class AlarmRule:
    """One alarm, or one for each queue or function: its name then ends with theirs.

    It fires when `periods` of the last `of` periods reach the threshold, or fall `below` it. `broke` and `impact` are
    sentences and `first` is the command to begin with. They may name {stage}, {queue}, {function}, the {event} that is
    counted, the {impact} of the queue or function, {every} period, {lasting} for all periods together, and the
    {threshold}, also in {minutes} of seconds, {seconds} of milliseconds or {percent} of one.
    """

    name: str
    metric: Metric | CountedEvent | None = None
    """None: AWS's own, which `infra` knows."""
    threshold: float
    """Of a rule with a `whole`, such as the storage of the database, the fraction of it."""
    at_least: float = 0
    """The least threshold, however small the whole is."""
    counts: str = ""
    """What the threshold counts, `s` seconds; without it, how often something happened in a period."""
    adds_up: bool = False
    """Of a metric of ours: whether the values of a period are added; otherwise the largest counts."""
    period: timedelta = COUNTING
    periods: int = 1
    of: int | None = None
    """None: as many as `periods`."""
    below: bool = False
    silence_is_bad: bool = False
    """Missing data is taken as good, or else as the alarm's state."""
    per_queue: bool = False
    per_function: bool = False
    broke: str
    impact: str
    first: str
    runbook: str
    """A file in docs/runbooks without its ending."""

    @property
    def runbook_path(self) -> str:
        return f"docs/runbooks/{self.runbook}.md"

    @property
    def unit(self) -> str:
        """What stands behind the threshold."""
        return self.counts or f"in {_time(self.period)}"

    def threshold_of(self, whole: float) -> float:
        """Return the threshold where it is a fraction of a whole."""
        return max(self.at_least, self.threshold * whole)

    def description(self, **names: str) -> str:
        """Return the words of the mail."""
        values = {
            "every": _time(self.period),
            "lasting": _time(self.period * (self.of or self.periods)),
            "threshold": f"{self.threshold:g}",
            "minutes": f"{self.threshold / 60:g}",
            "seconds": f"{self.threshold / 1000:g}",
            "percent": f"{self.threshold * 100:g}",
            **names,
        }
        if isinstance(self.metric, CountedEvent):
            values["event"] = self.metric.event
        return f"{self.broke} {self.impact} Runbook: {self.runbook_path}. First: {self.first}".format_map(values)


def _time(length: timedelta) -> str:
    minutes = length // MINUTE
    return {1: "a minute", 60: "an hour"}.get(minutes, f"{minutes} minutes")
