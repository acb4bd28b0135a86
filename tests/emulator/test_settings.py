from emulator.settings import inherited_environment


def test_children_inherit_only_what_a_process_needs_to_run() -> None:
    developer = {"PATH": "/bin", "AWS_PROFILE": "mine", "PGPASSWORD": "secret", "HTTPS_PROXY": "http://proxy"}
    assert inherited_environment(developer) == {"PATH": "/bin"}
