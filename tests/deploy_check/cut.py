"""The cut: what the emulator cannot take is left out of the templates of an assembly, and nothing else is changed.

- Network and database (`AWS::EC2::*`, `AWS::RDS::*`): it knows neither rules of security groups nor NAT gateways, and
  has no PostgreSQL without a container. Functions lose their place in the network and get a database of this machine.
- Custom resources: their providers need the SDK that Lambda's own Node has. So the migrator is invoked by the check.
- The outputs with DKIM records: its mail identities have none.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CUT = ("AWS::EC2::", "AWS::RDS::", "Custom::")
_DKIM = "DkimDNSToken"


def cut(assembly: Path, *, owner_url: str, app_url: str) -> int:
    """Cut the templates of an assembly; return how many resources were left out."""
    gone: set[str] = set()
    number = 0
    # Data first, from which the others import: what it does not export any more is gone for them too.
    for file in sorted(assembly.glob("*.template.json"), key=lambda each: "-Data." not in each.name):
        template = json.loads(file.read_text())
        resources = template["Resources"]
        out = {name for name, resource in resources.items() if resource["Type"].startswith(CUT)}
        number += len(out)
        for name, output in template.get("Outputs", {}).items():
            if _names(output["Value"]) & out:
                out.add(name)
                gone.add(output.get("Export", {}).get("Name", name))
            elif _DKIM in json.dumps(output["Value"]):
                out.add(name)
        template["Outputs"] = {name: each for name, each in template.get("Outputs", {}).items() if name not in out}
        template["Resources"] = {
            name: _without(resource, out | gone) for name, resource in resources.items() if name not in out
        }
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::Lambda::Function":
                _settle(resource["Properties"], owner_url=owner_url, app_url=app_url)
        file.write_text(json.dumps(template, indent=1))
    return number


def _settle(properties: dict[str, Any], *, owner_url: str, app_url: str) -> None:
    """Give a function the database of this machine."""
    properties.pop("VpcConfig", None)
    variables = properties.get("Environment", {}).get("Variables", {})
    if "DATABASE_URL" in variables:
        is_migrator = variables.pop("DATABASE_SECRET_ID", None) is not None
        variables.pop("DATABASE_IAM_AUTH", None)
        variables["DATABASE_URL"] = owner_url if is_migrator else app_url


def _without(value: Any, out: set[str]) -> Any:
    """Return a value in which references to what is gone are words."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]} | {"Fn::ImportValue": str(name)} if name in out:
            return f"cut-{name}"
        case Mapping():
            depends = value.get("DependsOn")
            rest = {key: _without(item, out) for key, item in value.items() if key != "DependsOn"}
            names = [depends] if isinstance(depends, str) else depends or []
            kept = [name for name in names if name not in out]
            return rest | ({"DependsOn": kept} if kept else {})
        case list():
            return [_without(item, out) for item in value]
        case _:
            return value


def _names(value: Any) -> set[str]:
    """Return the logical ids that a value refers to."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            return {name}
        case Mapping():
            return set().union(*(_names(item) for item in value.values()))
        case list():
            return set().union(*(_names(item) for item in value))
        case _:
            return set()
