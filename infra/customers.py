"""Who signs the tokens of customers: whom the stage names, or a user pool made here."""

import aws_cdk as cdk
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.stage import Stage, TokenIssuer


class UserPool(Construct):
    """Customers who sign up with a mail address that they have to prove. The front end sends their ID token."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        pool = cognito.UserPool(
            self,
            "Pool",
            user_pool_name=f"skincare-{stage.name}",
            self_sign_up_enabled=True,
            sign_in_aliases=cognito.SignInAliases(email=True),
            auto_verify=cognito.AutoVerifiedAttrs(email=True),
            keep_original=cognito.KeepOriginalAttrs(email=True),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            password_policy=cognito.PasswordPolicy(
                min_length=12,
                require_lowercase=True,
                require_uppercase=True,
                require_digits=True,
                require_symbols=True,
            ),
            deletion_protection=stage.keep_data,
            removal_policy=cdk.RemovalPolicy.RETAIN if stage.keep_data else cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(pool, "AwsSolutions-COG2", "A second factor keeps customers from ordering; staff is not in here.")
        acknowledge(pool, "AwsSolutions-COG8", "The tier that has it is paid per customer: for a stage that wants it.")
        client = pool.add_client(
            "FrontEnd",
            auth_flows=cognito.AuthFlow(user_srp=True),
            prevent_user_existence_errors=True,
            id_token_validity=cdk.Duration.hours(1),
            access_token_validity=cdk.Duration.hours(1),
            disable_o_auth=True,
        )
        region = cdk.Stack.of(self).region
        self.issuer = TokenIssuer(
            issuer=f"https://cognito-idp.{region}.amazonaws.com/{pool.user_pool_id}",
            audience=client.user_pool_client_id,
        )
        cdk.CfnOutput(self, "UserPoolId", value=pool.user_pool_id)
        cdk.CfnOutput(self, "UserPoolClientId", value=client.user_pool_client_id)
