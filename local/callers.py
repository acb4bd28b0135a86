"""Who may talk to a server on this machine's own address: programs of this machine, and no web page of elsewhere.

Every page that a browser shows can send requests to loopback. It cannot choose `Host`, `Origin` and `Sec-Fetch-Site`
(WHATWG Fetch: "forbidden request-header"; W3C: "Fetch Metadata Request Headers").
"""

from collections.abc import Mapping

from local.settings import LOOPBACK

_NAMES = {LOOPBACK, "localhost"}
_READS = {"GET", "HEAD"}


def why_refused(headers: Mapping[str, str]) -> str | None:
    """Return in words why a request is not for a server that only programs call; None where it is."""
    if not _has_our_name(headers):
        return "only for this machine"
    if "Origin" in headers or "Sec-Fetch-Site" in headers:
        return "not for web pages"
    return None


def why_page_refused(method: str, headers: Mapping[str, str]) -> str | None:
    """Return in words why a request is not for a server with pages of its own; None where it is.

    Its own pages may call it, and other pages may lead to it.
    """
    if not _has_our_name(headers):
        return "only for this machine"
    origin = headers.get("Origin")
    if origin is not None and origin != f"http://{headers['Host']}":
        return "not for pages of elsewhere"
    leads_here = method in _READS and headers.get("Sec-Fetch-Mode") == "navigate"
    if headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"} and not leads_here:
        return "not for pages of elsewhere"
    return None


def _has_our_name(headers: Mapping[str, str]) -> bool:
    # A page may point a name of its own at this address; then the browser believes that it owns what is here.
    return headers.get("Host", "").partition(":")[0].lower() in _NAMES
