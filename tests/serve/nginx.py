"""A real nginx with one of our configurations, at ports and with a certificate of the test's own."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.command import Running

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
MISSING = "there is no nginx and openssl here; install nginx"
CAN_RUN = NGINX is not None and shutil.which("openssl") is not None
FRAME = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr notice;
worker_processes 1;
events {{}}
http {{
    access_log off;
    {temp}
    include {conf};
}}
"""
TEMP_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def make_certificate(folder: Path) -> Path:
    """Make a certificate for localhost, with its key beside it; returns the certificate."""
    certificate, key = folder / "fullchain.pem", folder / "privkey.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate


@contextmanager
def running_nginx(folder: Path, name: str, replacements: dict[str, str]) -> Iterator[Running]:
    """Run nginx with `deploy/NAME` after replacing addresses and files; each replaced text must be there."""
    conf = (DEPLOY / name).read_text()
    conf = re.sub(r"^\s*listen \[::\].*\n", "", conf, flags=re.MULTILINE)
    for old, new in replacements.items():
        assert old in conf, old
        conf = conf.replace(old, new)
    (folder / "site.conf").write_text(conf)
    temp = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in TEMP_PATHS)
    (folder / "nginx.conf").write_text(FRAME.format(folder=folder, temp=temp, conf=folder / "site.conf"))
    server = Running([NGINX, "-c", folder / "nginx.conf", "-p", folder])
    try:
        server.prints("start worker process")
        yield server
    finally:
        server.signal(signal.SIGTERM)  # a killed one would leave its worker behind
        server.ends()
        server.close()
