"""`make deploy-check`: bootstrap, deploy, order, diff and destroy, by the real CDK, on an emulator of AWS on loopback.

What the emulator cannot take is cut out before: tests/deploy_check/cut.py says what.
"""

import json
import secrets
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg

from emulator.postgres import PostgresServer
from emulator.processes.children import Children
from emulator.processes.stopping import until_stopped
from infra.stage import DEV
from infra.synthesis import synthesize_for_this_machine
from local.repository import add_products, set_app_password
from local.seed import PRODUCTS
from tests.deploy_check.cdk import Cdk, fetch
from tests.deploy_check.customer import MAIL, Customer
from tests.deploy_check.cut import cut
from tests.deploy_check.emulator import ACCOUNT, REGION, Emulator
from tests.support.scratch import scratch_folder

DATABASE = "skincare"


def main() -> int:
    started = time.monotonic()
    finished = False
    fetch()
    with until_stopped(), ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="skincare-deploy-check-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        postgres = stack.enter_context(PostgresServer(stack.enter_context(scratch_folder()), durable=False))
        with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {DATABASE}")
        children = Children(folder / "children")
        stack.callback(children.stop_all)
        emulator = Emulator(folder / "aws", children)
        emulator.start()
        password = secrets.token_urlsafe(24)
        assembly = folder / "cdk.out"
        synthesize_for_this_machine(assembly, stage=DEV.name)
        left_out = cut(
            assembly,
            owner_url=postgres.dsn(database=DATABASE),
            app_url=postgres.dsn(database=DATABASE, user="app", password=password),
        )
        print(f"synthesized {DEV.name}, and left {left_out} resources out that the emulator cannot take")
        cdk = Cdk(assembly, folder / "aws" / "home", emulator.credentials)
        cdk.run("bootstrap", f"aws://{ACCOUNT}/{REGION}")
        cdk.run("deploy", "--all", "--require-approval=never", "--progress=events")
        cdk.run("diff", "--all", "--fail")
        _migrate(emulator)
        with psycopg.connect(postgres.dsn(database=DATABASE)) as owner:
            set_app_password(owner, password)
            add_products(owner, PRODUCTS)
        _order(Customer(emulator, _outputs(emulator, "Api")))
        cdk.run("destroy", "--all", "--force")
        left = [each for each in _stacks(emulator) if each != "CDKToolkit"]
        if left:
            raise RuntimeError(f"destroy left {left}")
        finished = True
    print(f"deployed, ordered and destroyed in {time.monotonic() - started:.0f} s")
    return 0 if finished else 130


def _migrate(emulator: Emulator) -> None:
    answer = emulator.client("lambda").invoke(FunctionName=f"skincare-{DEV.name}-migrator", Payload=b"{}")
    applied = json.loads(answer["Payload"].read())["applied"]
    print(f"the migrator applied {len(applied)} migrations")


def _order(customer: Customer) -> None:
    _expect(customer.ask("GET", "/v1/cart"), 401)
    _expect(customer.ask("GET", "/v1/products"), 200)
    customer.sign_up()
    _expect(customer.ask("PUT", "/v1/cart/items/SERUM-NIA-30", {"quantity": 1}), 200)
    order = _expect(customer.ask("POST", "/v1/orders", {}, **{"Idempotency-Key": "first"}), 201)
    print(f"POST /v1/orders: 201, order {order['order_number']}")
    customer.await_mail(order["order_number"])
    print(f"the worker mailed {MAIL}")


def _expect(answer: tuple[int, object], status: int) -> dict[str, str]:
    if answer[0] != status or not isinstance(answer[1], dict):
        raise RuntimeError(f"answered {answer[0]} instead of {status}: {answer[1]}")
    return answer[1]


def _outputs(emulator: Emulator, stack: str) -> dict[str, str]:
    (found,) = emulator.client("cloudformation").describe_stacks(StackName=f"Skincare-{DEV.name}-{stack}")["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}


def _stacks(emulator: Emulator) -> list[str]:
    found = emulator.client("cloudformation").describe_stacks()["Stacks"]
    return [each["StackName"] for each in found if each["StackStatus"] != "DELETE_COMPLETE"]


if __name__ == "__main__":
    sys.exit(main())
