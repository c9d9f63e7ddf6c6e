"""The router in front of replicas: HAProxy, an existing proxy, and its configuration."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry

from ..base.errors import CourseError

BEGINNING = 256
"""The bytes of a request's beginning that decide its replica: some four blocks of a cache. Shorter shared beginnings save little."""
BOUND = 175
"""The limit of a replica's open requests, in percent of the mean: a beginning that all share would leave the others without work."""
MISSING = (
    "HAProxy, which divides the requests between replicas, is not installed: "
    "run `apt-get install haproxy` on Debian or Ubuntu, or `brew install haproxy` on a Mac"
)
ROUTES = {
    "beginning": f"""\
balance hash var(txn.beginning)
    hash-type consistent
    hash-balance-factor {BOUND}""",
    "turns": "balance roundrobin",
}
"""The ways to choose a replica: by a hash of the request's beginning, so that texts that begin alike meet one cache; or each in turn."""
CONFIGURATION = """\
# Written by `autograder serve --replicas`, for HAProxy 2.6 and later. Its language: https://docs.haproxy.org

global
    tune.bufsize 65536  # this much of a request is read, and can be sent again to another replica
    hard-stop-after 2s  # after the signal to end

defaults
    mode http
    timeout http-request 30s
    timeout connect 2s
    timeout client 1h  # a stream may wait for its first token as long as the queue is
    timeout server 1h
    option http-buffer-request  # the beginning is in the body
    option http-no-delay  # an event is passed on at once
    option abortonclose  # a client that has left is reported to the replica
    http-error status 502 content-type application/json hdr Retry-After 1 string '{broken}'
    http-error status 503 content-type application/json hdr Retry-After 1 string '{nobody}'

frontend router
    bind fd@{listens}
{only}    http-request set-header x-forwarded-for %[src]
    http-request deny deny_status 403 if {{ path /metrics }} !{{ src 127.0.0.0/8 ::1 }}
    use_backend figures if {{ path /metrics }}
    default_backend replicas

backend replicas
    # A request begins with its first message, or with its prompt; if neither is a text, with its body.
    http-request set-var(txn.beginning) req.body,json_query('$.messages[0].content'),bytes(0,{beginning}) if METH_POST
    http-request set-var(txn.beginning) req.body,json_query('$.prompt'),bytes(0,{beginning}) if METH_POST !{{ var(txn.beginning) -m found }}
    http-request set-var(txn.beginning) req.body,bytes(0,{beginning}) if METH_POST !{{ var(txn.beginning) -m found }}
    {route}

    # A replica that does not answer, or accepts no requests (503), is skipped: another one gets the request, once.
    retries 1
    retry-on conn-failure empty-response 503
    option redispatch 1
    timeout check 10s  # a machine at work is slow to say that it is well
    option httpchk
    http-check send meth GET uri /health ver HTTP/1.1 hdr Host localhost
    http-check expect status 200
    default-server check inter 250ms fall 1 rise 1 weight 16  # 16: more points of each on the hash's circle, so more even shares
    http-response set-header x-replica %s
{servers}

backend figures
    server all {figures}
"""


ONLY_LOOPBACK = """\
    # A page of another site can give a name of its own to 127.0.0.1 (DNS rebinding): such a name is refused.
    http-request deny deny_status 403 unless { req.hdr(host) -i -m reg ^(127\\.0\\.0\\.1|localhost|\\[::1\\])(:[0-9]+)?$ }
"""


def haproxy() -> str:
    """Return the path of HAProxy, also in folders that a user's PATH omits on Debian. Raises CourseError if it is not installed."""
    found = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin")
    if found is None:
        raise CourseError(MISSING)
    return found


def configuration(listens: int, replicas: Sequence[str], figures: str, route: str = "beginning", *, loopback: bool = True) -> str:
    """Return HAProxy's configuration. Raises CourseError for an unknown route.

    listens: the descriptor of the socket that clients connect to. replicas: the replicas' addresses, host:port. figures: the address that
    answers /metrics for all replicas. route: one of ROUTES. loopback: whether HAProxy listens at this machine's own address; clients must
    then use a name of this machine as Host.
    """
    if route not in ROUTES:
        raise CourseError(f"ROUTE must be {' or '.join(ROUTES)}, got {route}")
    return CONFIGURATION.format(
        listens=listens,
        only=ONLY_LOOPBACK if loopback else "",
        beginning=BEGINNING,
        route=ROUTES[route],
        servers="\n".join(f"    server replica-{number} {address}" for number, address in enumerate(replicas, 1)),
        figures=figures,
        broken=refusal("the replica ended before it answered"),
        nobody=refusal("no replica takes requests"),
    )


def refusal(message: str) -> str:
    """Return an error in the form of OpenAI's API. HAProxy's own errors are HTML pages."""
    return f'{{"error": {{"message": "{message}", "type": "server_error", "param": null, "code": "no_replica"}}}}'


def sum_of(pages: Iterable[str]) -> bytes:
    """Add up the figures of several servers; all figures are counts."""
    families: dict[str, Metric] = {}
    sums: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for page in pages:
        for family in text_string_to_metric_families(page):
            families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            counts = sums.setdefault(family.name, {})
            for sample in family.samples:
                key = (sample.name, tuple(sample.labels.items()))
                counts[key] = counts.get(key, 0) + sample.value

    class All(CollectorRegistry):
        def collect(self) -> Iterator[Metric]:
            for name, family in families.items():
                for (sample, labels), value in sums[name].items():
                    family.add_sample(sample, dict(labels), value)
                yield family

    return generate_latest(All())
