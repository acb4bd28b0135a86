"""A stage is chosen by name, and production cannot be lost by a slip."""

import dataclasses
import json
import subprocess
import sys

import pytest

from infra.stage import DEV, STAGES, Stage, StageUnknown, TokenIssuer, stage_named
from tests.architecture.tree import ROOT
from tests.infra.conftest import Synthesize
from tests.infra.templates import Templates

KEPT = {
    "AWS::RDS::DBInstance",
    "AWS::S3::Bucket",
    "AWS::SecretsManager::Secret",
    "AWS::Cognito::UserPool",
}


class TestChoosingAStage:
    @pytest.mark.parametrize("name", STAGES)
    def test_by_its_name(self, name: str) -> None:
        assert stage_named(name).name == name

    @pytest.mark.parametrize("name", ["production", "", None, 3])
    def test_a_wrong_one_says_which_there_are(self, name: object) -> None:
        with pytest.raises(StageUnknown, match=r"-c stage=dev\|staging\|prod$"):
            stage_named(name)

    @pytest.mark.parametrize("context", [{"stage": "production"}, {}])
    def test_a_wrong_one_ends_the_command_with_one_sentence(self, context: dict[str, str]) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "infra"],
            cwd=ROOT,
            env={"CDK_CONTEXT_JSON": json.dumps(context), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "choose one with -c stage=" in done.stderr

    def test_a_sender_outside_the_verified_domain_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="shop@elsewhere"):
            dataclasses.replace(DEV, mail_from="shop@elsewhere.example.org")

    @pytest.mark.parametrize(
        ("setting", "name"),
        [("gateway_urls", "doku"), ("gateway_urls", "midtrans_snapp"), ("merchant_ids", "xendit")],
    )
    def test_a_setting_of_a_gateway_that_nobody_would_read_is_refused_at_once(self, setting: str, name: str) -> None:
        with pytest.raises(ValueError, match=f"{setting} names {name}: only"):
            dataclasses.replace(DEV, **{setting: {name: "https://gateway.example.com"}})  # type: ignore[arg-type]


class TestProduction:
    def test_keeps_its_data_when_a_stack_goes(self, prod: Templates) -> None:
        kept = [resource for resource in prod.resources if resource.kind in KEPT]
        assert {resource.kind for resource in kept} == KEPT
        assert {resource.raw["DeletionPolicy"] for resource in kept} == {"Retain"}
        assert {resource.raw["UpdateReplacePolicy"] for resource in kept} == {"Retain"}

    def test_stacks_cannot_be_deleted_by_mistake(self, prod: Templates) -> None:
        manifest = json.loads((prod.folder / "manifest.json").read_text())
        stacks = [item for item in manifest["artifacts"].values() if item["type"] == "aws:cloudformation:stack"]
        assert len(stacks) == 3
        assert all(stack["properties"]["terminationProtection"] for stack in stacks)

    def test_database_survives_a_zone_and_a_wrong_command(self, prod: Templates) -> None:
        (database,) = prod.of("AWS::RDS::DBInstance")
        assert database.properties["MultiAZ"] is True
        assert database.properties["DeletionProtection"] is True
        assert database.properties["BackupRetentionPeriod"] >= 7


class TestOtherStages:
    def test_leave_nothing_behind_that_stands_in_the_way_of_their_next_deploy(self, dev: Templates) -> None:
        kept = [r.logical_id for r in dev.resources if r.raw.get("DeletionPolicy", "Delete") not in {"Delete"}]
        assert kept == []


class TestEveryStage:
    def test_stacks_and_resources_carry_its_name(self, stage: Stage, templates: Templates) -> None:
        assert set(templates.stacks) == {"Data", "Api", "Workers"}
        tagged = [r for r in templates.resources if isinstance(r.properties.get("Tags"), list)]
        assert len(tagged) > 50
        for resource in tagged:
            assert {"Key": "Stage", "Value": stage.name} in resource.properties["Tags"], resource.logical_id

    def test_api_and_workers_need_nothing_of_each_other(self, templates: Templates) -> None:
        for stack, other in (("Api", "Workers"), ("Workers", "Api")):
            text = json.dumps(templates.stacks[stack]["Resources"])
            assert f"-{other}:" not in text

    def test_is_bound_to_no_account_and_no_region(self, templates: Templates) -> None:
        manifest = json.loads((templates.folder / "manifest.json").read_text())
        environments = {
            item["environment"] for item in manifest["artifacts"].values() if item["type"] == "aws:cloudformation:stack"
        }
        assert environments == {"aws://unknown-account/unknown-region"}


class TestASettingOfAStage:
    def test_an_issuer_of_tokens_takes_the_place_of_the_user_pool(self, synthesize: Synthesize) -> None:
        issuer = TokenIssuer(issuer="https://login.example.com/", audience="shop")
        templates = synthesize(dataclasses.replace(DEV, token_issuer=issuer))
        (authorizer,) = templates.of("AWS::ApiGatewayV2::Authorizer")
        assert authorizer.properties["JwtConfiguration"] == {
            "Issuer": "https://login.example.com/",
            "Audience": ["shop"],
        }
        assert templates.of("AWS::Cognito::UserPool") == []

    def test_a_snapshot_takes_the_place_of_the_database(self, synthesize: Synthesize) -> None:
        templates = synthesize(dataclasses.replace(DEV, restore_from_snapshot="before-the-accident"))
        (database,) = templates.of("AWS::RDS::DBInstance")
        assert database.properties["DBSnapshotIdentifier"] == "before-the-accident"
        assert {"DBName", "MasterUsername"} & set(database.properties) == set()
