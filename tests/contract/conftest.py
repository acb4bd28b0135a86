import pytest

from tests.moto_server import aws, aws_endpoint

__all__ = ["aws", "aws_endpoint"]

pytest.register_assert_rewrite("tests.contract.queue_contract")
pytest.register_assert_rewrite("tests.contract.gateway_client_contract")
