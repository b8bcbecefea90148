from __future__ import annotations

import pytest

from apps.outbox.addresses import Refused, check_address, is_public


def test_it_works() -> None:
    assert check_address("https://example.org/hook?x=1", allow_private=False).host == "example.org"
    assert check_address("http://10.0.0.7:8000/", allow_private=True).port == 8000


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "2002:808:808::1"])
def test_the_open_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),  # noqa: S104 - refused
        *("224.0.0.1", "255.255.255.255", "192.0.0.8", "198.18.0.1", "203.0.113.9"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fd00::1", "fec0::1", "ff0e::1", "2001:db8::1", "::7f00:1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "64:ff9b:1::1"),
    ],
)
def test_what_leads_inside_is_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("", "example.org", "ftp://example.org/", "file:///etc/passwd", "https://", "https:///x"),
        *("http://example.org/", "https://user:secret@example.org/", "https://example.org/#x"),
        *("https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest/meta-data"),
        *("https://exa mple.org/", "https://example.org/\n", f"https://example.org/{'x' * 500}"),
    ],
)
def test_what_is_refused(address: str) -> None:
    with pytest.raises(Refused):
        check_address(address, allow_private=False)
