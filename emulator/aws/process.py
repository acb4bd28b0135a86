"""The AWS of this machine as a process. moto takes a second to import, and whoever starts it need not."""

import socket
import subprocess
from pathlib import Path

from emulator.processes.children import Children
from emulator.processes.servers import start_server


def start_aws(
    children: Children, listener: socket.socket, *, mailbox: Path, switches: Path, files: Path, logs: Path
) -> subprocess.Popen[bytes]:
    """Serve SQS, SES, Secrets Manager and S3 on a listening socket, which is the child's from now on.

    Mails are kept in the file `mailbox`, objects of S3 in the folder `files`; the log is `aws.log`.
    """
    arguments = [str(mailbox), str(switches), str(files)]
    return start_server(children, "emulator.aws.server", listener, arguments, name="aws", logs=logs)
