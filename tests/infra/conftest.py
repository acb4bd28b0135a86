"""Templates of every stage. All these tests run in one process: loading the CDK takes seconds."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from infra.node import use_our_node
from infra.stage import STAGES, Stage
from tests.infra.additions import GIVEN, SYNTHESIZE, add_gateway, add_queue, change_facts
from tests.infra.templates import Templates
from tests.support.copied_tree import copied_tree, run

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


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with everything that the tests of additions add."""
    copy = copied_tree(tmp_path_factory.mktemp("tree-"))
    for add in (add_queue, add_gateway, change_facts):
        add(copy)
    return copy


@pytest.fixture(scope="session")
def grown(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The templates of that copy."""
    folder = tmp_path_factory.mktemp("cdk-")
    run(tree, SYNTHESIZE, str(folder), GIVEN)
    return Templates(folder)
