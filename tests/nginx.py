"""nginx as `deploy/nginx.conf` has it, for processes of one machine: without certificate, on ports that are free."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.running_site import ROOT

AROUND = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx-error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{shipped}
}}
"""
_TO_HTTPS = re.compile(r"^server \{\n    listen 80;.*?^\}\n", re.MULTILINE | re.DOTALL)
_CERTIFICATE = re.compile(r"^ +ssl_certificate.*\n", re.MULTILINE)
_SERVER = re.compile(r"^    server 127\.0\.0\.1:(\d+)(.*)\n", re.MULTILINE)


def shipped_servers() -> list[str]:
    """Ports of the web processes in the shipped file."""
    return [port for port, _more in _SERVER.findall(_shipped())]


def nginx_conf(folder: Path, *, port: int, servers: Sequence[int]) -> str:
    """port: where it listens; servers: ports of the web processes. Raises ValueError where the file is another."""
    text, without_redirect = _TO_HTTPS.subn("", _shipped())
    text, certificates = _CERTIFICATE.subn("", text)
    listening = f"listen 127.0.0.1:{port};"
    if not (without_redirect and certificates == 2 and "listen 443 ssl;" in text):
        raise ValueError("deploy/nginx.conf is not as it was")
    text = text.replace("listen 443 ssl;", listening)
    first, *others = _SERVER.finditer(text)
    lines = "".join(f"    server 127.0.0.1:{server}{first[2]}\n" for server in servers)
    for other in others:
        text = text.replace(other[0], "")
    return AROUND.format(folder=folder, shipped=text.replace(first[0], lines))


def nginx_command(program: str, folder: Path, conf: str) -> list[str]:
    """Writes the file."""
    path = folder / "nginx.conf"
    path.write_text(conf)
    return [program, "-p", str(folder), "-c", str(path), "-e", str(folder / "nginx-error.log")]


def _shipped() -> str:
    return (ROOT / "deploy" / "nginx.conf").read_text()
