"""The mails that tell customers about their orders: `templates/<notification type>.<language>.*`."""

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from skincare.locales import MONTHS, Locale
from skincare.moments import WIB
from skincare.money import rupiah
from skincare.notifications.models import Letterhead, NotificationContext, NotificationType
from skincare.notifications.ports import Email
from skincare.text import isolated, lines, one_line

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


def order_mail(
    kind: NotificationType, order: NotificationContext, *, shop_url: str, letterhead: Letterhead | None = None
) -> Email:
    """Write the mail in the customer's language. `shop_url` is the shop's address without a path."""
    letterhead = letterhead or Letterhead()
    words = {
        "order": order,
        "letterhead": letterhead,
        "recipient_name": one_line(order.recipient_name or ""),
        "pay_before": order.pay_before and minute(order.pay_before, order.locale),
        "order_url": f"{shop_url.rstrip('/')}/orders/{quote(order.order_number)}",
    }
    return Email(
        to=order.email,
        to_name=order.recipient_name,
        subject=_render(f"{kind}.{order.locale}.subject.txt", words).strip(),
        text=_render(f"{kind}.{order.locale}.txt", words) + _render("letterhead.txt", words),
        html=_render(f"{kind}.{order.locale}.html", words),
        reply_to=letterhead.reply_to,
    )


def minute(moment: datetime, locale: Locale) -> str:
    """Return a moment to the minute, by the shop's clock: `15 Januari 2026 pukul 10.05 WIB`."""
    there = moment.astimezone(WIB)
    day = f"{there.day} {MONTHS[locale][there.month - 1]} {there.year}"
    match locale:
        case Locale.ID:
            return f"{day} pukul {there:%H.%M} WIB"
        case Locale.EN:
            return f"{day} at {there:%H:%M} WIB"


def _render(template: str, words: dict[str, object]) -> str:
    return _environment().get_template(template).render(words)


@cache
def _environment() -> "Environment":
    # Imported here: most containers never write a mail, and those that do pay for it once.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(enabled_extensions=("html",), default=False),
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(rupiah=rupiah, one_line=one_line, lines=lines, isolated=isolated)
    return environment
