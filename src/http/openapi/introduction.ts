/** Introduction of the document, in Markdown. */
export const INTRODUCTION = `Outbox sends email for the domains of your organization. A request that is answered 202 is
stored durably. Its outcome is in the message itself, in events, statistics and webhooks.

Bodies are JSON in UTF-8. Names are \`snake_case\`; times are ISO 8601 in UTC with milliseconds; ids are a prefix and 26
characters: \`msg_…\`, \`key_…\`, \`dom_…\`, \`whk_…\`, \`sup_…\`, \`evt_…\`. Unknown fields and query parameters are
refused, so that a misspelt one never goes unnoticed.

Bodies are limited:

- Size: 64 kB; 500 kB for lists of addresses, 1 MB for a CSV file, 29 MB with attachments, of which at most 8 MB are
  anything other than the \`content\` of attachments.
- Structure: lists have at most 1,000 items, objects 1,000 keys, nesting 16 levels, a body 5,000 values, a batch 50,000.
- Send \`Content-Length\` with large bodies. They wait up to ten seconds for room and are then answered 503 unread.

## Authentication

Every request under \`/v1\` carries an API key: \`Authorization: Bearer ob_live_…\`. A key is shown in full once, when
it is created or rotated. It has permissions, belongs to one domain, and can be limited to networks and in time:

| permission | allows |
|---|---|
| \`send\` | sending, analysing, cancelling and rescheduling messages |
| \`read\` | reading messages, events and statistics |
| \`manage\` | domains, templates, webhooks, API keys |
| \`admin\` | everything, and billing and the organization |

Only \`admin\` includes other permissions. The \`from\` address of a message is always on the domain of the key. A key
with only \`send\` or \`read\` sees its own domain only. After a rotation the old and the new value both work until the
grace period ends. A missing, wrong, expired or revoked key is always 401. It never affects other clients of the same
address.

## Environments

\`ob_live_…\` keys send mail. \`ob_test_…\` keys work the same way with a simulated mail server: nothing leaves, nothing
is billed. The address selects the simulated outcome: \`delivered@sandbox.outbox.test\`, \`bounced@…\`, \`deferred@…\`,
\`complained@…\`, \`suppressed@…\`; any other address is delivered. Each environment has its own messages, events,
statistics, webhooks and suppressions. Domains and templates are shared; a test key
cannot change them.

## Errors

Every error is \`{"error": {"message", "code", "details"?, "retry_after"?}}\`. \`code\` is stable and meant for
programs, \`message\` for people. \`details\` maps the name of a field to its problem, for all fields at once. Checks
that need a valid request (whether a schedule, a sender or a limit allows it) come after these. Each operation lists its
error codes and what to do about each.

- Retry 429, 500, 502, 503 and 504, with growing, random pauses, and give up after a while. After a 429 wait \`retry_after\`
  seconds (60 if absent).
- Retry a 409 \`resource_conflict\` after reading the resource again.
- Do not retry other 4xx: the same request would be refused again.

An unknown path is answered 404, a method that a path does not support 405 with \`Allow\`, both in the same shape.
Headers above 16 kB are answered 431, requests that do not arrive within a minute 408. Every response names its request
in \`X-Request-Id\`: look a refused one up with \`GET /v1/requests/{id}\`, or under *Requests* in the dashboard, for seven
days.

## Idempotency

Send an \`Idempotency-Key\` of your own with requests that send mail (1 to 255 printable ASCII characters). The same key
with the same body, at any time and with any API key of the organization and environment, gets the first answer again
with \`Idempotent-Replayed: true\`, and nothing is sent again. The same key with another body is 422
\`idempotency_key_reused\`. A refused request does not use up its key. Operations without this header refuse it.

## Concurrent changes

A single resource has an \`ETag\`. Send it as \`If-Match\` with a change, and the change is refused with 412 if the
resource has changed since. After a change is answered, the next read shows it, through any address of the service.

## Rate limits

By default a key may make 100 sending, 1000 reading and 100 managing requests per minute; it or its organization can have
other limits. Every response has the limit and the remaining requests, as \`RateLimit-Policy\` and \`RateLimit\` and as
\`RateLimit-Limit\`, \`RateLimit-Remaining\`, \`RateLimit-Reset\`. Above the limit: 429 with \`Retry-After\` and
\`error.retry_after\`.

## Lists

Lists are newest first: \`{"object": "list", "data": […], "has_more", "next_cursor"}\`. \`limit\` is 1 to 100, 25 by
default. Pass \`next_cursor\` as \`after\` for the next page, with the same filters. Events alone are read forwards: see
\`GET /v1/events\`.

## Versions

The version is in the path: \`/v1\`. Within it, operations, optional fields, event types and error codes are added;
nothing is removed and no meaning changes. Ignore fields you do not know.`;

/** `messages` of `/v1/messages/:id`. */
export const tagOf = (url: string): string => {
  if (/^\/(?:unsubscribe|preferences|view)\//.test(url)) return 'recipients';
  return url.startsWith('/v1/') ? (url.split('/')[2] ?? '') : 'service';
};

/** Descriptions of tags. */
const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  messages: 'Send messages and follow their outcome.',
  'api-keys': 'Create, change and revoke API keys; their values are shown once.',
  domains: 'The domains that mail is sent from, and their DNS records.',
  templates: 'What messages are made of: drafts, published versions, variables and languages.',
  webhooks: 'URLs that get events as they happen.',
  events: 'Everything that happened, in order.',
  stats: 'Counts of recipients by outcome.',
  suppressions: 'Addresses that get no mail.',
  requests: 'Requests that were refused, and why.',
  billing: 'Usage and cost.',
  audit: 'Proof of what happened: the log, signed checkpoints and exports.',
  destinations: 'Suspended destinations.',
  inbox: 'Captured mail, while `MAIL_URL` is `capture:`.',
  organization: 'The organization that owns the key.',
  erasures: 'Removing what is stored about a person.',
  members: 'People who use the dashboard.',
  session: 'Who asks; signing in and out.',
  sessions: 'Browsers in which members have signed in.',
  passkeys: 'Credentials with which members sign in.',
  topics: 'Kinds of mail that recipients can choose or refuse individually.',
  recipients: 'Pages behind the links in mail, for its recipients; no key is needed.',
  search: 'Finds resources by id, address, code or the beginning of a name.',
  submission: 'Where mail is taken by SMTP, beside this API.',
  service: 'The service itself: probes and this document, which need no key, and its health, for operators.',
};

/** @param used in the order of the document. */
export const tagsOf = (used: readonly string[]): readonly { readonly name: string; readonly description: string }[] =>
  [...new Set(used)].map((name) => ({ name, description: TAG_DESCRIPTIONS[name] ?? '' }));
