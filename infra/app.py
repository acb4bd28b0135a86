"""The CDK app: one factory for the command line and for tests, so that both make the same templates."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from infra.api import ApiStack
from infra.build import ROOT, Architecture, Build
from infra.data import DataStack
from infra.stage import Stage
from infra.workers import WorkersStack


@dataclass(frozen=True)
class Deployment:
    """One stage's stacks. `app.synth()` writes the templates and assets."""

    app: cdk.App
    data: DataStack
    api: ApiStack
    workers: WorkersStack


def make_app(
    stage: Stage,
    *,
    outdir: Path | None = None,
    architecture: Architecture = "arm64",
    code: bool = True,
    rules: bool = True,
    validation: bool = True,
    release: str | None = None,
) -> Deployment:
    """Make one stage's stacks; nothing is asked of AWS, and nothing but `outdir` (cdk.out) is written.

    Without `code` the assets have neither packages nor bytecode: enough for templates, and seconds faster.
    `app.synth()` checks the `rules` of cdk-nag, and by `validation` the CDK's own about templates, which take seconds.
    """
    app = cdk.App(
        outdir=None if outdir is None else str(outdir),
        context=dict(_context()),
        analytics_reporting=False,
        builtin_cloud_formation_validation=validation,
    )
    return _stacks(app, stage, Build(architecture, code=code, release=release), rules=rules)


def synthesize(stage: Stage) -> None:
    """Do what the CDK command line asks, which also says where to write."""
    app = cdk.App(analytics_reporting=False)
    ask = app.node.try_get_context
    architecture: Architecture = "x86_64" if ask("architecture") == "x86_64" else "arm64"
    _stacks(app, stage, Build(architecture, release=ask("release")), rules=True)
    app.synth()


def _stacks(app: cdk.App, stage: Stage, build: Build, *, rules: bool) -> Deployment:
    if rules:
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    data = DataStack(app, f"Skincare-{stage.name}-Data", stage=stage, build=build)
    api = ApiStack(app, f"Skincare-{stage.name}-Api", stage=stage, build=build, data=data)
    workers = WorkersStack(app, f"Skincare-{stage.name}-Workers", stage=stage, build=build, data=data)
    for key, value in {"Project": "skincare", "Stage": stage.name}.items():
        # CloudFormation knows no tags of a target group, though the CDK would write them.
        cdk.Tags.of(app).add(key, value, exclude_resource_types=["AWS::RDS::DBProxyTargetGroup"])
    return Deployment(app, data, api, workers)


def _context() -> Mapping[str, Any]:
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return context
