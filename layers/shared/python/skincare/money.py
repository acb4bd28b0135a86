"""Money: whole rupiah, and how people read it."""

from skincare.locales import Locale


def rupiah(amount: int, locale: Locale) -> str:
    """Return an amount of whole rupiah as its reader writes it: `Rp150.000` or `IDR 150,000`."""
    sign, digits = "-" if amount < 0 else "", f"{abs(amount):,}"
    match locale:
        case Locale.ID:
            return f"{sign}Rp{digits.replace(',', '.')}"
        case Locale.EN:
            return f"{sign}IDR {digits}"
