"""E-mail addresses: which ones we take, and their one spelling.

Sources: RFC 5321 (lengths, dot-string), RFC 1035 (labels), RFC 5891 (internationalised domains). The mail
provider speaks no SMTPUTF8, so the part before the @ must be ASCII. Quoted local parts and domain literals
are legal and refused: nobody receives shop mail there.
"""

import re
import unicodedata
from dataclasses import dataclass, field

from skincare.errors import InvalidInput

_LONGEST_ADDRESS = 254
_LONGEST_LOCAL_PART = 64
_LONGEST_DOMAIN = 253

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL_PART = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")

# Unicode's Default_Ignorable_Code_Point: drawn as nothing, whatever their category is.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True)
class EmailAddress:
    """An address that can be mailed: ASCII throughout, the domain in lower case and in punycode.

    `str()` gives the spelling to store, to compare and to send to. It stays out of `repr`.
    """

    local_part: str = field(repr=False)
    domain: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.local_part}@{self.domain}"


def parse_email(text: str) -> EmailAddress:
    """Return the address that `text` is, or raise `InvalidInput("email", …)` saying what is wrong with it.

    The message never quotes the address, only the code point of a character that cannot be seen.
    """
    # Most addresses are plain, and `isprintable` knows what is not to be seen in ASCII but for the space.
    plain = text.isascii() and text.isprintable() and " " not in text
    for character in "" if plain else text:
        if _is_invisible(character):
            raise _invalid(f"contains a space or a character that cannot be seen (U+{ord(character):04X})")
    local_part, separator, domain = text.partition("@")
    if not separator or "@" in domain:
        raise _invalid("must contain exactly one @")
    if not local_part.isascii():
        raise _invalid("must have only ASCII characters before the @")
    if len(local_part) > _LONGEST_LOCAL_PART:
        raise _invalid(f"must have at most {_LONGEST_LOCAL_PART} characters before the @")
    if not _LOCAL_PART.fullmatch(local_part):
        raise _invalid("is malformed before the @")
    address = EmailAddress(local_part, _ascii_domain(domain))
    if len(str(address)) > _LONGEST_ADDRESS:
        raise _invalid(f"must have at most {_LONGEST_ADDRESS} characters")
    return address


def _ascii_domain(domain: str) -> str:
    if len(domain) > _LONGEST_DOMAIN:
        raise _invalid(f"must have at most {_LONGEST_DOMAIN} characters after the @")
    name = domain.lower() if domain.isascii() else _punycode(domain)
    labels = name.split(".")
    if len(labels) < 2 or labels[-1].isdigit() or not all(map(_LABEL.fullmatch, labels)):
        raise _invalid("must end in a domain name")
    return name


def _punycode(domain: str) -> str:
    """Encode an internationalised domain, but only where decoding gives back what was typed.

    A name whose letters had to be mapped to others could lead to somebody else's mailbox.
    """
    # Here, for its tables would cost every start what few addresses need.
    import idna

    typed = unicodedata.normalize("NFC", domain).lower()
    try:
        name = idna.encode(typed).decode("ascii")
        returned = idna.decode(name)
    except UnicodeError:
        raise _invalid("has something after the @ that domain names cannot carry") from None
    if returned != typed:
        raise _invalid("has something after the @ that domain names cannot carry")
    return name


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character)[0] in "CZ" or _IGNORABLE.match(character) is not None


def _invalid(message: str) -> InvalidInput:
    return InvalidInput("email", message)
