"""One stage's templates as plain values, with references followed from stack to stack."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

REGION = "ap-southeast-3"
ACCOUNT = "123456789012"
_PSEUDO = {
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
}


@dataclass(frozen=True)
class Resource:
    """One resource; `properties` is resolved."""

    stack: str
    logical_id: str
    kind: str
    properties: Mapping[str, Any]
    raw: Mapping[str, Any]


class Templates:
    """The templates of `Skincare-<stage>-Data/Api/Workers`, read from a cloud assembly."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stacks: dict[str, Any] = {
            path.name.split(".")[0].rpartition("-")[2]: json.loads(path.read_text())
            for path in sorted(folder.glob("*.template.json"))
        }

    @cached_property
    def resources(self) -> list[Resource]:
        return [
            Resource(stack, logical_id, raw["Type"], self.resolve(stack, raw.get("Properties", {})), raw)
            for stack, template in self.stacks.items()
            for logical_id, raw in template["Resources"].items()
        ]

    def of(self, kind: str) -> list[Resource]:
        """Return all resources of a type, such as AWS::SQS::Queue."""
        return [resource for resource in self.resources if resource.kind == kind]

    def function(self, name: str) -> Resource:
        """Return a function by the end of its name, such as worker-payments."""
        (found,) = [
            resource
            for resource in self.of("AWS::Lambda::Function")
            if str(resource.properties.get("FunctionName", "")).endswith(f"-{name}")
        ]
        return found

    def functions(self) -> list[Resource]:
        """Return the functions of the shop, without those that the CDK needs for itself."""
        return [each for each in self.of("AWS::Lambda::Function") if "FunctionName" in each.properties]

    def statements_of(self, function: Resource) -> list[dict[str, Any]]:
        """Return what a function's role may do."""
        role = function.raw["Properties"]["Role"]["Fn::GetAtt"][0]
        statements: list[dict[str, Any]] = []
        for resource in self.resources:
            if resource.stack != function.stack:
                continue
            if resource.kind == "AWS::IAM::Role" and resource.logical_id == role:
                for policy in resource.properties.get("Policies", []):
                    statements += policy["PolicyDocument"]["Statement"]
            if resource.kind == "AWS::IAM::Policy" and {"Ref": role} in resource.raw["Properties"]["Roles"]:
                statements += resource.properties["PolicyDocument"]["Statement"]
        return statements

    def actions_of(self, function: Resource) -> dict[str, set[str]]:
        """Return action to resources of a function's role."""
        allowed: dict[str, set[str]] = {}
        for statement in self.statements_of(function):
            for action in as_list(statement["Action"]):
                allowed.setdefault(action, set()).update(as_list(statement["Resource"]))
        return allowed

    def resolve(self, stack: str, value: Any) -> Any:  # noqa: PLR0911  one line per intrinsic function
        """Return a value of a template with its intrinsic functions worked out."""
        match value:
            case list():
                return [self.resolve(stack, item) for item in value]
            case {"Ref": str(name)}:
                return _PSEUDO.get(name) or self._reference(stack, name, None)
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return self._reference(stack, name, attribute)
            case {"Fn::Join": [str(glue), parts]}:
                return glue.join(str(self.resolve(stack, part)) for part in parts)
            case {"Fn::Select": [index, parts]}:
                return self.resolve(stack, parts)[int(index)]
            case {"Fn::Split": [str(glue), text]}:
                return str(self.resolve(stack, text)).split(glue)
            case {"Fn::ImportValue": str(name)}:
                return self._exported(name)
            case {"Fn::GetAZs": _}:
                return [f"{REGION}a", f"{REGION}b", f"{REGION}c"]
            case {"Fn::Sub": str(text)}:
                return text
            case dict():
                return {key: self.resolve(stack, item) for key, item in value.items()}
            case _:
                return value

    def _exported(self, name: str) -> Any:
        for stack, template in self.stacks.items():
            for output in template.get("Outputs", {}).values():
                if output.get("Export", {}).get("Name") == name:
                    return self.resolve(stack, output["Value"])
        raise KeyError(name)

    def _reference(self, stack: str, logical_id: str, attribute: str | None) -> str:
        raw = self.stacks[stack]["Resources"].get(logical_id, {"Type": "parameter"})
        values = {"id": logical_id, "bucket": logical_id.lower(), **_NAMES, **raw.get("Properties", {})}
        form = _REFERENCES.get((raw["Type"], attribute), "{id}" if attribute is None else f"{{id}}.{attribute}")
        if form.endswith("{FunctionName}"):
            values.setdefault("FunctionName", logical_id)
        return form.format_map(values)


_NAMES = {"where": f"{REGION}:{ACCOUNT}", "region": REGION, "account": ACCOUNT, "LogGroupName": "unnamed"}

# What AWS answers for a reference to a resource, or for one of its attributes.
_REFERENCES: dict[tuple[str, str | None], str] = {
    ("AWS::SQS::Queue", None): "https://sqs.{region}.amazonaws.com/{account}/{QueueName}",
    ("AWS::SQS::Queue", "QueueName"): "{QueueName}",
    ("AWS::SQS::Queue", "Arn"): "arn:aws:sqs:{where}:{QueueName}",
    ("AWS::Lambda::Function", None): "{FunctionName}",
    ("AWS::Lambda::Function", "Arn"): "arn:aws:lambda:{where}:function:{FunctionName}",
    ("AWS::Logs::LogGroup", "Arn"): "arn:aws:logs:{where}:log-group:{LogGroupName}:*",
    ("AWS::S3::Bucket", None): "{bucket}",
    ("AWS::S3::Bucket", "Arn"): "arn:aws:s3:::{bucket}",
    ("AWS::SecretsManager::Secret", None): "arn:aws:secretsmanager:{where}:secret:{Name}-AbCdEf",
    ("AWS::RDS::DBProxy", "DBProxyArn"): "arn:aws:rds:{where}:db-proxy:prx-0123",
    ("AWS::SES::EmailIdentity", None): "{EmailIdentity}",
    ("AWS::SES::ConfigurationSet", None): "{Name}",
}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a value."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from strings(item)
        case dict():
            for item in value.values():
                yield from strings(item)
