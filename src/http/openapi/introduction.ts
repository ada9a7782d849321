/** What a reader of the document needs to know before any operation, in Markdown. */
export const INTRODUCTION = `Outbox sends email for the domains of your organization. A request that is answered 202 is kept durably; what
becomes of it is told by the message itself, by events, by statistics and by webhooks.

Bodies are JSON in UTF-8. Names are \`snake_case\`; times are ISO 8601 in UTC with milliseconds; ids are a prefix and 26
characters: \`msg_…\`, \`key_…\`, \`dom_…\`, \`whk_…\`, \`sup_…\`, \`evt_…\`. Fields and query parameters that an operation does not know are
refused, so that a misspelt one never goes unnoticed.

A body has at most 64 kB, where an operation does not take more: 500 kB of addresses, 1 MB of a CSV file, 29 MB with
attachments, of which at most 8 MB are anything else than the \`content\` of attachments. No list has more than 1,000 items,
no object more than 1,000 keys, nothing is nested deeper than 16 levels, and a body has at most 5,000 values in all, a batch
50,000. Send \`Content-Length\` with large bodies: they wait for room then, and are answered 503 before they are read where
there is none for ten seconds.

## Authentication

Every request under \`/v1\` carries an API key: \`Authorization: Bearer ob_live_…\`. A key is shown in full once, when it is
made or rotated. It holds permissions, belongs to one domain, and can be limited to networks and in time:

| permission | allows |
|---|---|
| \`send\` | sending, analysing, cancelling and rescheduling messages |
| \`read\` | reading messages, events and statistics |
| \`manage\` | domains, webhooks, API keys |
| \`admin\` | everything, and billing and the organization |

No permission but \`admin\` includes another. The \`from\` address of a message is always on the domain of the key. A key with
only \`send\` or \`read\` sees its own domain only. After a rotation the old and the new value both work until the grace period
ends. A key that is missing, wrong, expired or revoked is always 401; it never keeps another client of the same address out.

## Environments

\`ob_live_…\` keys send mail. \`ob_test_…\` keys run the same way with a simulated mail server: nothing leaves, nothing is
billed. Mail to \`delivered@sandbox.outbox.test\`, \`bounced@…\`, \`deferred@…\`, \`complained@…\` and \`suppressed@…\` ends as the name
says; any other address is delivered. Messages, events, statistics, webhooks and suppressions of one environment are not seen from the
other. Domains are shared; a test key cannot change them.

## Errors

Every error is \`{"error": {"message", "code", "details"?, "retry_after"?}}\`. \`code\` is stable and meant for programs,
\`message\` for people. \`details\` maps the name of a field to what is wrong with it, all problems at once, but for what can
only be known once all of them are right: whether a schedule, a sender or a limit allows what is asked for. Each operation
lists the codes it can answer with and what to do about each.

Retry 429, 500, 502, 503 and 504 with growing, random pauses and not without end: wait \`retry_after\` seconds after a 429 (60
when it is absent). Retry a 409 \`resource_conflict\` after reading the resource again. Do not retry other 4xx: the same
request would be refused again.

A path that does not exist is answered 404, a method that a path does not take 405 with \`Allow\`, both in the same shape.
Headers of more than 16 kB are answered 431, requests that do not arrive within a minute 408. Every response names its request in
\`X-Request-Id\`.

## Idempotency

Send an \`Idempotency-Key\` of your own with what sends mail (1 to 255 printable ASCII characters). The same key and body
again, at any time, with any key of the organization and environment, is answered as the first time with
\`Idempotent-Replayed: true\`, and nothing is sent again. The same key with another body is 422 \`idempotency_key_reused\`. A
request that was refused does not use its key up. Operations that do not take the header refuse it.

## Changing what you have seen

A single resource carries \`ETag\`. Send it as \`If-Match\` with a change, and the change is refused with 412 if somebody else
was faster. After a change is answered, the next read through any address of the service shows it.

## Rate limits

Each key may make so many requests a minute of each kind: 100 that send, 1000 that read, 100 that manage, unless it or
its organization has other limits. Every answer tells the limit and what is left, as \`RateLimit-Policy\` and \`RateLimit\` and
as \`RateLimit-Limit\`, \`RateLimit-Remaining\`, \`RateLimit-Reset\`. Beyond it: 429 with \`Retry-After\` and \`error.retry_after\`.

## Lists

Lists are newest first: \`{"object": "list", "data": […], "has_more", "next_cursor"}\`. \`limit\` is 1 to 100, 25 by default. Pass
\`next_cursor\` as \`after\` for the next page, with the same filters. Events alone are read forwards: see \`GET /v1/events\`.

## Versions

The version is in the path: \`/v1\`. Within it, operations, optional fields, event types and error codes are added; nothing
is taken away or changes its meaning. Be prepared for fields you do not know.`;

/** `messages` of `/v1/messages/:id`. */
export const tagOf = (url: string): string => {
  if (url.startsWith('/unsubscribe/')) return 'unsubscribe';
  return url.startsWith('/v1/') ? (url.split('/')[2] ?? '') : 'service';
};

/** What the operations of a tag are about. */
const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  messages: 'Send messages, and see what became of them.',
  'api-keys': 'Make, change and end API keys; their values are shown once.',
  domains: 'The domains that mail is sent from, and the DNS records that prove them.',
  templates: 'Texts of messages with places to fill in.',
  webhooks: 'Addresses that are told of events as they happen.',
  events: 'Everything that happened, in order.',
  stats: 'Counts of recipients by what became of them.',
  suppressions: 'Addresses that are sent nothing more.',
  billing: 'What is used and what it costs.',
  destinations: 'Mail servers of recipients that are left alone for a while.',
  inbox: 'Mail that was captured instead of sent; only where nothing leaves the machine.',
  organization: 'Whose keys these are.',
  audit: 'Proof of who did what.',
  erasures: 'Deleting a person’s data.',
  unsubscribe: 'Pages behind the unsubscribe links in mail; no key is needed.',
  service: 'The service itself; no key is needed.',
};

/** @param used in the order of the document. */
export const tagsOf = (used: readonly string[]): readonly { readonly name: string; readonly description: string }[] =>
  [...new Set(used)].map((name) => ({ name, description: TAG_DESCRIPTIONS[name] ?? '' }));
