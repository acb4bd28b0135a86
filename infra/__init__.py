"""The deployment: what stands on AWS, as one CDK app. Flat: a file per stack, a file per construct."""
