"""Sending mail: the domain that SES verifies, and where it reports bounces and complaints."""

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_ses as ses
from constructs import Construct

from infra.stage import Stage


class Mail(Construct):
    """An identity with DKIM, and a configuration set that sends over TLS and reports to EventBridge."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self._domain, self._sender = stage.mail_domain, stage.mail_from
        self.configuration_set = ses.ConfigurationSet(
            self,
            "ConfigurationSet",
            configuration_set_name=f"skincare-{stage.name}",
            tls_policy=ses.ConfigurationSetTlsPolicy.REQUIRE,
            reputation_metrics=True,
            # Whom a bounce blocks we decide, and a person can lift it: a list of SES's would block again whom it lifts.
            suppression_reasons=ses.SuppressionReasons.COMPLAINTS_ONLY,
        )
        self.configuration_set.add_event_destination(
            "Failures",
            destination=ses.EventDestination.event_bus(
                events.EventBus.from_event_bus_name(self, "DefaultBus", "default")
            ),
            events=[
                ses.EmailSendingEvent.BOUNCE,
                ses.EmailSendingEvent.COMPLAINT,
                ses.EmailSendingEvent.REJECT,
            ],
        )
        self.identity = ses.EmailIdentity(
            self,
            "Identity",
            identity=ses.Identity.domain(stage.mail_domain),
            configuration_set=self.configuration_set,
        )
        for number, record in enumerate(self.identity.dkim_records, start=1):
            cdk.CfnOutput(self, f"DkimRecord{number}", value=f"{record.name} CNAME {record.value}")

    @property
    def lookup_arns(self) -> list[str]:
        """The identities that may allow the sender: the address, its domain and the domains above.

        After a refusal the worker asks SES about each. One that it may not ask about would pass for verified.
        """
        labels = self._domain.split(".")
        domains = [".".join(labels[start:]) for start in range(len(labels) - 1)]
        stack = cdk.Stack.of(self)
        return [
            stack.format_arn(service="ses", resource="identity", resource_name=name)
            for name in (self._sender, *domains)
        ]

    @property
    def arns(self) -> list[str]:
        """The resources that a function needs to send."""
        stack = cdk.Stack.of(self)
        return [
            self.identity.email_identity_arn,
            stack.format_arn(
                service="ses",
                resource="configuration-set",
                resource_name=self.configuration_set.configuration_set_name,
            ),
        ]
