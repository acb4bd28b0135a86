"""What documents count and name of a deployment is what the templates hold."""

import re
from collections.abc import Callable

from infra.stage import STAGES
from tests.architecture.tree import text_of
from tests.infra.templates import Templates

DEPLOY = text_of("docs/deploy.md")


class TestTheDocumentOfTheDeploy:
    def test_counts_the_stacks_and_lists_them(self, prod: Templates) -> None:
        listed = re.findall(r"^\| `Skincare-<stage>-(\w+)` \|", DEPLOY, flags=re.MULTILINE)
        assert sorted(listed) == sorted(prod.stacks)
        assert len(prod.stacks) == 3
        assert "three stacks per stage" in DEPLOY

    def test_counts_the_alarms(self, stages: Callable[[str], Templates]) -> None:
        counts = sorted({len(stages(name).of("AWS::CloudWatch::Alarm")) for name in STAGES})
        assert f"alarms {' or '.join(map(str, counts))} × " in DEPLOY

    def test_counts_the_secrets(self, prod: Templates) -> None:
        of_databases = [each for each in prod.of("AWS::RDS::DBInstance") if each.properties["ManageMasterUserPassword"]]
        count = len(prod.of("AWS::SecretsManager::Secret")) + len(of_databases)
        assert f"secrets {count} × " in DEPLOY

    def test_adds_up_what_a_stage_costs(self) -> None:
        table = DEPLOY.partition("| idle, per month |")[2].partition("\n\n")[0]
        rows = [[cell.strip() for cell in line.split("|")[-4:-1]] for line in table.splitlines()[2:]]
        sums = [sum(float(row[column].replace("–", "0")) for row in rows[:-1]) for column in range(3)]
        assert rows[-1] == [f"**about {round(each)}**" for each in sums]
