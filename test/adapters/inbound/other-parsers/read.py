"""Reads mails with Python's email package: a JSON list of {name, raw} comes in, a JSON list of what was read goes out."""

import base64
import email
import email.policy
import hashlib
import json
import sys


def attempt(work):
    """None: the parser has no answer."""
    try:
        return work()
    except Exception:
        return None


def encodable(text):
    return text.encode("utf-8", "replace").decode("utf-8")


def filename_of(part):
    name = attempt(part.get_filename)
    return None if name is None else encodable(name)


def bytes_of(part):
    if part.get_content_maintype() == "message":
        inner = part.get_payload()
        if isinstance(inner, list):
            policy = email.policy.default.clone(linesep="\r\n", max_line_length=None)
            return b"\r\n".join(attempt(lambda: each.as_bytes(policy=policy)) or b"" for each in inner)
    return part.get_payload(decode=True) or b""


def text_of(part):
    return encodable(attempt(part.get_content) or bytes_of(part).decode("utf-8", "replace"))


def leaves_of(part, in_alternative=False):
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        inside = part.get_content_subtype() == "alternative" or in_alternative
        for each in part.iter_parts() if part.get_content_subtype() != "related" else part.get_payload():
            yield from leaves_of(each, inside)
    else:
        yield part, in_alternative


def mailboxes(message):
    header = message["from"]
    if header is None:
        return []
    return [[encodable(one.display_name), encodable(one.addr_spec)] for one in header.addresses if one.addr_spec not in ("", "<>")]


def read(raw):
    message = email.message_from_bytes(raw, policy=email.policy.default)
    parts = []
    for part, in_alternative in leaves_of(message):
        kind = part.get_content_type() if part.get_content_maintype() != "multipart" else "text/plain"
        content = bytes_of(part)
        parts.append({
            "type": kind,
            "isAttached": attempt(part.get_content_disposition) not in (None, "inline"),
            "inAlternative": in_alternative,
            "filename": filename_of(part),
            "text": text_of(part) if kind in ("text/plain", "text/html") else "",
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        })
    return {
        "subject": attempt(lambda: encodable(str(message["subject"] or ""))),
        "from": attempt(lambda: mailboxes(message)),
        "parts": parts,
    }


json.dump([attempt(lambda: read(base64.b64decode(raw))) for raw in json.load(sys.stdin)], sys.stdout)
