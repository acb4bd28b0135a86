"""Who may talk to a server on this machine's own address: programs of this machine, and no web page of elsewhere.

Every page that a browser shows can send requests to loopback. It cannot choose `Host`, `Origin` and `Sec-Fetch-Site`
(WHATWG Fetch: "forbidden request-header"; W3C: "Fetch Metadata Request Headers").
"""

from collections.abc import Callable

from emulator.settings import LOOPBACK

type Header = Callable[[str], str | None]
"""Gives a header of a request by its name, in whatever case; None where it has none."""

_NAMES = {LOOPBACK, "localhost"}
_READS = {"GET", "HEAD"}


def why_refused(header: Header) -> str | None:
    """Return in words why a request is not for a server that only programs call; None where it is."""
    if not _has_our_name(header):
        return "only for this machine"
    if header("Origin") is not None or header("Sec-Fetch-Site") is not None:
        return "not for web pages"
    return None


def why_page_refused(method: str, header: Header) -> str | None:
    """Return in words why a request is not for a server with pages of its own; None where it is.

    Its own pages may call it, and other pages may lead to it.
    """
    if not _has_our_name(header):
        return "only for this machine"
    origin = header("Origin")
    if origin is not None and origin != f"http://{header('Host')}":
        return "not for pages of elsewhere"
    leads_here = method in _READS and header("Sec-Fetch-Mode") == "navigate"
    if (header("Sec-Fetch-Site") or "none") not in {"none", "same-origin"} and not leads_here:
        return "not for pages of elsewhere"
    return None


def _has_our_name(header: Header) -> bool:
    # A page may point a name of its own at this address; then the browser believes that it owns what is here.
    return (header("Host") or "").partition(":")[0].lower() in _NAMES
