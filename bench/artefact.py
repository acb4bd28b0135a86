"""Whether the deployed bytecode is used: a zip file dates every file anew, and other bytecode would be passed over."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from bench.environment import BenchEnvironment, Effort, NotMeasured
from bench.figure import Figure, at_most
from bench.process_start import TASKS, cpu_until_ready
from bench.rounds import interleave, ratios
from emulator.functions.function import FunctionDefinition
from emulator.settings import inherited_environment
from infra.synthesis import synthesize_for_this_machine
from skincare.deployment import functions

# What the CDK writes into its zip files, which cannot hold an earlier time.
_TIME_IN_A_ZIP_FILE = 315_532_800


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """The API's process from its folders as they were built, and from copies with the times that Lambda sees."""
    if not Path(TASKS.format(os.getpid())).exists():
        raise NotMeasured("the CPU time of another process is read from /proc, which this system has not")
    built = bench.scratch / "cdk.out"
    try:
        synthesize_for_this_machine(built, stage="dev")
    except (OSError, subprocess.SubprocessError) as error:
        raise NotMeasured("the deployment cannot be synthesized here") from error
    dated = bench.scratch / "re-dated"
    shutil.copytree(built, dated)
    for path in dated.rglob("*"):
        os.utime(path, (_TIME_IN_A_ZIP_FILE, _TIME_IN_A_ZIP_FILE))
    # The first round reads the files of both from the disk.
    rounds = max(effort.rounds, 3) + 1
    functions = {name: _api(folder) for name, folder in (("as built", built), ("re-dated", dated))}
    taken = interleave({name: partial(cpu_until_ready, each) for name, each in functions.items()}, rounds=rounds)
    yield Figure(
        "artefact.re-dated",
        "API artefact: CPU from exec to its first event, with the times of a zip file ÷ as built",
        ratios(taken["re-dated"][1:], taken["as built"][1:]),
        aim=at_most(1.05),
        parts={f"{name} (CPU ms)": median(values[1:]) for name, values in taken.items()},
    )


def _api(assembly: Path) -> FunctionDefinition:
    """Return the API function with only its asset and its layer, before what Lambda brings."""
    resources = json.loads((assembly / "Skincare-dev-Api.template.json").read_text())["Resources"].values()
    (layer,) = [each["Properties"] for each in resources if each["Type"] == "AWS::Lambda::LayerVersion"]
    (function,) = [each["Properties"] for each in resources if each["Type"] == "AWS::Lambda::Function"]
    code, packages = (
        assembly / f"asset.{where['S3Key'].removesuffix('.zip')}" for where in (function["Code"], layer["Content"])
    )
    return FunctionDefinition(
        name="api",
        handler=function["Handler"],
        timeout=functions.API.timeout,
        memory_mb=functions.API.memory_mb,
        code=code,
        environment={
            **inherited_environment(),
            "PYTHONPATH": f"{code}:{packages / 'python'}",
            # Lambda's folders cannot be written to either.
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
