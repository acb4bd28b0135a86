"""The languages that customers are written to in."""

from enum import StrEnum


class Locale(StrEnum):
    """A customer's language; the value is what the database stores and what HTML calls `lang`."""

    ID = "id"
    EN = "en"


MONTHS = {
    Locale.ID: (
        "Januari",
        "Februari",
        "Maret",
        "April",
        "Mei",
        "Juni",
        "Juli",
        "Agustus",
        "September",
        "Oktober",
        "November",
        "Desember",
    ),
    Locale.EN: (
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ),
}
"""The months' names, from January on."""
