"""What JSON Schema cannot say of the contract: the meaning of its own formats, and rules between two members."""

import itertools
import os
import re
import unicodedata

import requests
import schemathesis
from hypothesis import strategies as st

# Letters, signs and spaces of several scripts, none of which changes when they are brought to normal form C.
PRINTABLE = "".join(chr(c) for c in range(0x20, 0x7F)) + "äöüßéñœΩЖ中文한글€–…🎫"


def visible(longest, empty=False):
    """Text by the rule of an ID."""
    text = st.text(PRINTABLE, min_size=0 if empty else 1, max_size=longest // 4)
    return text.filter(lambda s: s == s.strip() and s == unicodedata.normalize("NFC", s))


# A list that is read as it is meant: no quote, no separator.
PLAIN = st.text("ABCDEFGHJKMNPQRSTUVWXYZ23456789-äß中", min_size=1, max_size=20)

# An idempotency key, bare and as a structured-field string.
KEY = st.text([chr(c) for c in range(0x21, 0x7F) if chr(c) not in '",'], min_size=1, max_size=255)
QUOTED = st.text([chr(c) for c in range(0x20, 0x7F)], min_size=1, max_size=100).map(
    lambda s: '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'
)

FORMATS = {
    "idpool-id": visible(256),
    "idpool-text": visible(200, empty=True),
    "idpool-label": st.text(PRINTABLE, min_size=1, max_size=4),
    "idpool-number": st.integers(0, 2**63 - 1).map(str),
    "idpool-etag": st.integers(1, 9).map('"{}"'.format),
    "idpool-key": KEY | QUOTED,
    "idpool-cursor": st.just(""),
    "idpool-column": st.just("code"),
    "idpool-unicode": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd")),
    "idpool-csv": st.lists(PLAIN, min_size=1, max_size=20).map(lambda ids: "".join(f"{i},1\r\n" for i in ["code", *ids])),
    "idpool-lines": st.lists(PLAIN, min_size=2, max_size=20).map("\n".join),
    "idpool-alphabet": st.sampled_from(["", "0123456789", "ABCDEFGHJKMNPQRSTUVWXYZ23456789", "01"]),
    "idpool-prefix": st.text("ABC-/_", max_size=8),
    "idpool-separator": st.sampled_from(["", "-", ".", "/"]),
    "idpool-word": st.text("BDFXY", min_size=2, max_size=6),
    "idpool-number-format": st.sampled_from(["{n}", "INV-{yyyy}-{n:6}", "{yy}{mm}/{n:4}"]),
    "idpool-zone": st.sampled_from(["", "UTC", "Europe/Berlin", "America/New_York"]),
}
for name, strategy in FORMATS.items():
    schemathesis.openapi.format(name, strategy)

schemathesis.serializer.alias("application/x-ndjson", "text/plain")  # the lines of a log, as they are


def whole(value):
    """JSON Schema takes 5.0 for an integer; idpool wants it written as 5."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(v) for v in value]
    if isinstance(value, dict):
        return {k: whole(v) for k, v in value.items()}
    return value


# What each kind of generator has, and what it has at least.
MEMBERS = {
    "random": ["alphabet", "prefix", "without_ambiguous", "block"],
    "sequence": ["overflow"],
    "uuidv7": [],
    "ulid": [],
}
LEAST = {"random": {"length": 40}, "sequence": {"sequence": "bills", "format": "INV-{yyyy}-{n:9}"}}


def filled(body):
    """A generator has what its kind has, fits its pool, and has marks to fill the pool between."""
    made = body["generator"]
    kind = made["kind"]
    body = {k: v for k, v in body.items() if k not in ("policy", "fold_case")}
    kept = {k: v for k, v in made.items() if k in MEMBERS[kind]}
    if kept.get("alphabet") == "01" or not kept.get("block", True):
        kept.pop("without_ambiguous", None)
        kept.pop("block", None)
    return body | {"generator": {"kind": kind} | kept | LEAST.get(kind, {}), "refill": {"low": 2, "target": 5}}


def past(body):
    """What is told of a rebuild or a restore lies behind us and within every sequence, and a restore has a source that there is."""
    for name in ("since", "point"):
        if name in body:
            body = body | {name: "2026-01-01T00:00:00Z"}
    if "reported" in body:
        body = body | {"reported": "1"}
    if body.get("source") == "table":
        body = body | {"source": "log"}
    if body.get("source") == "log":
        body = {k: v for k, v in body.items() if k != "at_most"}
    return body


# What may be a name.
NAME = re.compile("[a-z0-9][a-z0-9._-]{0,127}")


def confirmed(operation, body, path):
    """What is not done without its name being written once more has that of the path; at most so many are burned of a pool alone."""
    if not isinstance(body, dict) or "confirm" not in body or not path:
        return body
    name = path.get("pool") or path.get("sequence")
    if operation == "rebuildPool":  # the configuration is known, and not said again
        body = {k: v for k, v in body.items() if k not in ("policy", "fold_case")}
    if operation == "restoreSequence":
        body = {k: v for k, v in body.items() if k != "at_most"}
    return body | {"confirm": name}


def consistent(body):
    """A number to begin with is not above the last one, a credential ends in the future, only a table has columns, and a generator fits."""
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("generator"), dict):
        body = filled(body)
    if body.get("format") == "text" or body.get("header") is False:
        body = {k: v for k, v in body.items() if k != "column"}
    if "expires_at" in body:
        body = body | {"expires_at": "2099-12-31T23:59:59Z"}
    body = past(body)
    if isinstance(body.get("config"), dict):
        body = body | {"config": consistent(body["config"])}
    if "limit" in body:
        first, last = int(body.get("start", "1")), max(1, int(body["limit"]))
        body = body | {"limit": str(max(first, last))}
    return body


# A pool and a sequence that have enough for every request, and the operations that would put an end to that: they get
# what was made for them, each thing by two requests.
STEADY = {"pool": "stock", "sequence": "bills"}
UNSETTLING = {f"{what}{of}" for what in ["delete", "pause", "drain", "put", "restore"] for of in ["Pool", "Sequence"]}
UNSETTLING |= {f"{what}Rebuild" for what in ["plan", "apply", "resume", "cancel"]}
MADE = itertools.count()
last = {"pool": "pool-0", "sequence": "sequence-0"}

# A change of these may be refused for what is there: some of it is fixed when it is made, and no limit goes below what was
# handed out. Without If-Match they make, or find the same, or ask for the version.
BOUND = {"putPool", "putSequence"}

# What may be taken at once, and whether a key is required, is for each pool and sequence to say.
TAKING = {"claim", "lease", "next"}


@schemathesis.hook
def after_load_schema(context, schema):
    """Makes the two, by the API itself."""
    base = os.environ["IDPOOL_URL"] + "/v1"
    ids = [f"STOCK-{n:06}" for n in range(40000)]
    for method, path, body in [
        ("PUT", "/pools/stock", {"max_batch": 1000}),
        ("POST", "/pools/stock/seed", {"ids": ids}),
        ("PUT", "/sequences/bills", {"max_lease": 1000000000}),
    ]:
        headers = {"Authorization": "Bearer " + os.environ["IDPOOL_TOKEN"]}
        requests.request(method, base + path, json=body, headers=headers, timeout=60).raise_for_status()


def at_home(operation, path):
    """Half of the names that are made up, those of the examples, and those that were learned from answers become those of
    what is there: others find nothing."""
    if operation in TAKING:
        return {name: STEADY[name] for name in path}
    named = lambda value: value in ("vouchers", "invoices", *STEADY.values()) or len(value) % 2
    if operation not in UNSETTLING:
        return {name: STEADY[name] if name in STEADY and named(value) else value for name, value in path.items()}
    for name in path:
        if operation in BOUND and named(path[name]):
            last[name] = f"{name}-{next(MADE) // 2}"
    return {name: last[name] if named(value) else value for name, value in path.items()}


# Times of which one is before the other.
PERIOD = {"from": "2026-01-01T00:00:00Z", "until": "2099-12-31T23:59:59Z"}

# The key of the examples would be that of an earlier request nearly always: each request gets its own.
EXAMPLE_KEY = "order-4711"
ORDERS = itertools.count()


@schemathesis.hook
def map_case(context, case):
    """Keeps what is meant to be good to the rules above. What is meant to be bad keeps its faults."""
    operation = case.operation.definition.raw["operationId"]
    headers = dict(case.headers or {})
    if headers.get("Idempotency-Key") == EXAMPLE_KEY:
        headers["Idempotency-Key"] = f"order-{next(ORDERS)}"
    good = case.meta is not None and case.meta.generation.mode.is_positive
    if good and operation in BOUND:
        headers.pop("If-Match", None)
    if headers != dict(case.headers or {}):
        case.headers = headers
    if case.path_parameters and (good or operation in UNSETTLING):
        path = at_home(operation, case.path_parameters)
        if path != case.path_parameters:
            case.path_parameters = path
        if isinstance(case.body, dict) and NAME.fullmatch(str(case.body.get("confirm"))):
            case.body = case.body | {"confirm": path.get("pool") or path.get("sequence")}
    if not good:
        return case
    body = confirmed(operation, consistent(whole(case.body)), case.path_parameters)
    if operation == "previewPool" and isinstance(body, dict) and not body.get("generator"):
        body = body | {"generator": {"kind": "ulid"}, "refill": {"low": 2, "target": 5}}
        body = filled(body)
    if repr(body) != repr(case.body):
        case.body = body
    if case.query:
        kept = dict(case.query)
        if case.media_type == "application/json":
            kept.pop("header", None)
            kept.pop("ranges", None)
        if case.media_type != "text/csv" or kept.get("header") == "false":
            kept.pop("column", None)
        if "until" in kept or "from" in kept:
            kept |= {name: at for name, at in PERIOD.items() if name in kept}
        if kept != case.query:
            case.query = kept
    return case


@schemathesis.hook
def before_add_examples(context, examples):
    """Examples that are put together of those of members are no generator unless they fit; map_case does not come to them."""
    for case in examples:
        operation = case.operation.definition.raw["operationId"]
        case.body = confirmed(operation, consistent(case.body), case.path_parameters)
