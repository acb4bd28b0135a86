"""Money: whole rupiah, how people read it and how they type it."""

import re

from skincare.locales import Locale

# Rp with points, as in Indonesia, or IDR with commas, as our English mails have it. A group has three digits, so that
# no decimals can be taken for one.
_TYPED = re.compile(
    r"(?:rp\.? ?)?(?P<plain>[0-9]{1,15}|[0-9]{1,3}(?:\.[0-9]{3}){1,4})|idr ?(?P<english>[0-9]{1,3}(?:,[0-9]{3}){0,4})",
    re.IGNORECASE,
)


def rupiah(amount: int, locale: Locale = Locale.ID) -> str:
    """Return an amount of whole rupiah as its reader writes it: `Rp150.000` or `IDR 150,000`."""
    sign, digits = "-" if amount < 0 else "", f"{abs(amount):,}"
    match locale:
        case Locale.ID:
            return f"{sign}Rp{digits.replace(',', '.')}"
        case Locale.EN:
            return f"{sign}IDR {digits}"


def read_rupiah(text: str) -> int:
    """Return the amount that somebody has typed: `59000`, `59.000`, `Rp59.000`, `Rp 59.000`, `IDR 59,000`.

    What `rupiah` writes can be read. Decimals, and commas without IDR, are refused, for they mean one thing in Jakarta
    and another in London. Raises `ValueError`, whose message does not repeat the text.
    """
    typed = _TYPED.fullmatch(" ".join(text.split()))
    if typed is None:
        raise ValueError("must be whole rupiah such as 59000, 59.000 or Rp59.000")
    return int((typed["plain"] or typed["english"]).replace(".", "").replace(",", ""))
