"""Certificates: one page about one bundle, as HTML and as JSON.

certificate = certify("out/", issuer=Issuer(title="Salaries 2026", issued="2026-11-16"))
write(certificate, "certificate/")
differences = check("out/", read("certificate/certificate.json"))
"""

from hedgerow.certificate.issue import certify, check, parts_not_compared, read, write
from hedgerow.certificate.model import Certificate, Issuer, decode, encode

__all__ = ["Certificate", "Issuer", "certify", "check", "decode", "encode", "parts_not_compared", "read", "write"]
