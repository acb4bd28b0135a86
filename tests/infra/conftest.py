"""Templates of every stage. All these tests run in one process: loading the CDK takes seconds."""

from collections.abc import Callable
from functools import cache

import pytest

from infra.node import use_our_node
from infra.stage import STAGES, Stage
from tests.infra.templates import Templates

type Synthesize = Callable[[Stage], Templates]


@pytest.fixture(scope="session")
def synthesize(tmp_path_factory: pytest.TempPathFactory) -> Synthesize:
    """Return what makes a stage's templates, without packages in the assets and without rules."""
    use_our_node()
    from infra.app import make_app

    def make(stage: Stage) -> Templates:
        folder = tmp_path_factory.mktemp("cdk-")
        make_app(stage, outdir=folder, code=False, rules=False, validation=False).app.synth()
        return Templates(folder)

    return make


@pytest.fixture(scope="session")
def stages(synthesize: Synthesize) -> Callable[[str], Templates]:
    """Return what gives the templates of a stage by its name; each is made once."""
    return cache(lambda name: synthesize(STAGES[name]))


@pytest.fixture(params=STAGES)
def stage(request: pytest.FixtureRequest) -> Stage:
    return STAGES[request.param]


@pytest.fixture
def templates(stages: Callable[[str], Templates], stage: Stage) -> Templates:
    """The templates of each stage in turn."""
    return stages(stage.name)


@pytest.fixture
def prod(stages: Callable[[str], Templates]) -> Templates:
    return stages("prod")


@pytest.fixture
def dev(stages: Callable[[str], Templates]) -> Templates:
    return stages("dev")
