import { idPattern } from '../../domain/kernel/ids.ts';
import { isCompat, type Json, type Operation, present, ruleOf } from '../endpoint.ts';
import { REQUEST_ID_PATTERN, TEMPLATE_PATTERN } from '../fields.ts';
import type { RouteRule } from '../route-rules.ts';
import { methodAndUrl } from '../route-table.ts';
import { RECORDED_ANSWERS } from './recorded-answers.ts';
import { HEADERS, responsesElsewhere, responsesOf, sharedResponses } from './responses.ts';
import { type Schemas, schemasOf, WEBHOOKS } from './schemas.ts';

/** Introduction of the document, in Markdown. */
const INTRODUCTION = `Outbox sends email for the domains of your organization. When a request is answered 202, its message is stored durably.
You follow the outcome in the message itself, in events, in statistics and by webhooks.

Bodies are JSON in UTF-8. Names are \`snake_case\`. Times are ISO 8601 in UTC with milliseconds. Ids are a prefix and 26
characters: \`msg_…\`, \`key_…\`, \`dom_…\`, \`whk_…\`, \`sup_…\`, \`evt_…\`. Unknown fields and query parameters are
rejected, so that you notice a misspelled name.

Limits of a body:

- Size: 64 kB. Lists of addresses: 500 kB. A CSV file: 1 MB. Messages with attachments: 29 MB, of which at most 8 MB
  without the \`content\` of attachments.
- Structure: at most 1,000 items in a list, 1,000 keys in an object, 16 levels, 5,000 values (50,000 in a batch).
- Send \`Content-Length\` with large bodies. While the service is busy they wait up to ten seconds, then the response is
  503.

## Authentication

Every request to \`/v1\` needs an API key: \`Authorization: Bearer ob_live_…\`. This value is the secret of the key. It is
shown only once, when you create or rotate the key. A key has permissions, belongs to one domain, and can have an expiry
and allowed networks:

| permission | allows |
|---|---|
| \`send\` | sending, analyzing, cancelling and rescheduling messages |
| \`read\` | reading messages, events and statistics |
| \`manage\` | domains, templates, webhooks, API keys |
| \`admin\` | all of these, billing, and the organization |

Only \`admin\` includes other permissions. The \`from\` address of a message must be on the domain of the key. A key with
only \`send\` or \`read\` sees only its own domain. After a rotation, the previous and the new secret both work until the
grace period ends. A missing, wrong, expired or revoked key is always 401, and never affects other clients at the same
address.

## Environments

Live keys (\`ob_live_…\`) send mail. With test keys (\`ob_test_…\`) nothing is sent or billed, and the outcome is
simulated. The recipient selects it: \`delivered@sandbox.outbox.test\`, \`bounced@…\`, \`deferred@…\`, \`complained@…\`,
\`suppressed@…\`. All other addresses are delivered. Each environment has its own messages, events, statistics, webhooks
and suppressions. Domains and templates are shared; a test key cannot change them.

## Errors

Every error is \`{"error": {"message", "code", "details"?, "retry_after"?}}\`. \`code\` is stable: use it in programs.
\`message\` is for people. \`details\` lists the problems of all fields at once, by the name of the field. Schedules, senders
and limits are checked only after all fields are valid. Each operation lists its error codes and what to do about them.

- Retry 429, 500, 502, 503 and 504 with growing, random pauses, and give up after a while. After a 429, wait
  \`retry_after\` seconds (60 if it is absent).
- After a 409 \`resource_conflict\`, read the resource again, then retry.
- Do not retry other 4xx: the same request would fail again.

Unknown paths are 404, and unsupported methods 405 with \`Allow\`, with the same body. Headers above 16 kB are 431, and
requests that do not arrive within a minute are 408. Every response has an \`X-Request-Id\`. For seven days you can look up
a refused request with \`GET /v1/requests/{id}\`, or under *Requests* in the dashboard.

## Idempotency

Send an \`Idempotency-Key\` that you choose (1 to 255 printable ASCII characters) with requests that send mail. If you
repeat the request with the same key and body, nothing is sent again: you get the first response with
\`Idempotent-Replayed: true\`. This works at any time, and with any API key of the organization and environment. The same
key with another body is 422 \`idempotency_key_reused\`. A rejected request does not use up its key. Operations that do not
list this header reject it.

## Concurrent changes

Responses with a single resource have an \`ETag\`. Send it as \`If-Match\` with a change: if the resource has changed since,
the response is 412 and nothing changes. After the response to a change, every read shows the change, on every instance
of the service.

## Rate limits

By default a key can make 100 sending, 1,000 reading and 100 managing requests per minute. Keys and organizations can have
other limits. Every response has the limit and the remaining requests, in the headers \`RateLimit-Policy\` and
\`RateLimit\`, and in \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\`. Above the limit, the response is 429
with \`Retry-After\` and \`error.retry_after\`.

## Lists

Lists are \`{"object": "list", "data": […], "has_more", "next_cursor"}\`, the newest item first. \`limit\` is 1 to 100, by
default 25. For the next page, pass \`next_cursor\` as \`after\`, with the same filters. Only events are listed oldest first:
see \`GET /v1/events\`.

## Versions

The version is in the path: \`/v1\`. Within a version, operations, optional fields, event types and error codes can be
added. Nothing is removed, and no meaning changes. Ignore fields that you do not know.`;

/** `messages` of `/v1/messages/:id`. */
const tagOf = (url: string): string => {
  if (/^\/(?:unsubscribe|preferences|view)\//.test(url)) return 'recipients';
  return url.startsWith('/v1/') ? (url.split('/')[2] ?? '') : 'service';
};

/** Tags by group, with their descriptions, in the order in which a customer needs them. */
const TAGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Sending: {
    messages: 'Send messages and follow their outcome.',
    templates: 'Subjects and bodies of messages, with variables and languages. Drafts and published versions.',
    topics: 'Kinds of mail that recipients can subscribe to separately.',
    suppressions: 'Addresses that you do not send mail to.',
  },
  Following: {
    events: 'Everything that happened to your messages and domains, in order.',
    webhooks: 'URLs that events are posted to as they happen.',
    stats: 'Counts of recipients by outcome.',
    inbound: 'Mail that your domains received.',
    inbox: 'Mail that was captured instead of sent (`MAIL_URL=capture:`).',
    requests: 'Requests that were answered with an error, and why.',
    search: 'Search by id, address, code or the beginning of a name.',
  },
  'Setting up': {
    domains: 'Domains that you send from, and their DNS records.',
    'inbound-routes': 'Rules for received mail, by address.',
    'api-keys': 'Create, rotate and revoke API keys. A secret is shown only once.',
    submission: 'SMTP servers that accept mail, as an alternative to this API.',
    organization: 'Settings of your organization.',
    destinations: 'Destinations that no mail is sent to at the moment.',
    billing: 'Plans, usage and invoices.',
  },
  'Proof and privacy': {
    audit: 'The audit log, with signed checkpoints, proofs, reports and exports.',
    erasures: 'Removal of everything that is stored about a person.',
  },
  People: {
    members: 'People who use the dashboard.',
    sessions: 'Browsers in which members are signed in.',
    session: 'Signing in and out, and the key or member that sends a request.',
    passkeys: 'Passkeys with which members sign in.',
    recipients: 'Pages behind the links in mail, for recipients. They need no key.',
  },
  'Running the service': {
    service: 'Probes and this document, which need no key, and the health of the service, for operators.',
  },
};

/** Groups of the tags that operations have: without a capture of mail there is no inbox. */
const groupsOf = (operations: readonly Operation[]) => {
  const used = new Set(operations.map(({ name }) => tagOf(methodAndUrl(name).url)));
  return Object.entries(TAGS).map(([name, tags]) => ({
    name,
    tags: Object.entries(tags).flatMap(([tag, description]) => (used.has(tag) ? [{ name: tag, description }] : [])),
  }));
};

/** In the log, and as customers see it. */
const EVENT = ['event', `^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|${idPattern('evt')}`] as const;

/** Noun and form of the id by the path segment before it. Captured mail is numbered; a template is also known by its alias. */
const RESOURCES: Readonly<Record<string, readonly [noun: string, shape: string]>> = {
  messages: ['message', idPattern('msg')],
  'api-keys': ['API key', idPattern('key')],
  domains: ['domain', idPattern('dom')],
  templates: ['template', TEMPLATE_PATTERN],
  webhooks: ['webhook', idPattern('whk')],
  suppressions: ['suppression', idPattern('sup')],
  topics: ['topic', idPattern('top')],
  inbound: ['inbound message', idPattern('inb')],
  'inbound-routes': ['inbound route', idPattern('irt')],
  erasures: ['erasure', idPattern('ers')],
  auditors: ['auditor', idPattern('aud')],
  members: ['member', idPattern('mbr')],
  sessions: ['session', idPattern('ses')],
  deliveries: ['delivery', idPattern('dlv')],
  invoices: ['invoice', idPattern('inv')],
  requests: ['refused request', REQUEST_ID_PATTERN],
  inbox: ['captured mail', '^[0-9]{1,18}$'],
  proof: EVENT,
  disclosures: EVENT,
};

const parameterOf = (name: string, description: string, pattern: string): Json => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', pattern },
});

/** Token of a link. Those of tracked images and of forwarding have more in them. */
const tokenOf = (url: string): Json => {
  if (url.startsWith('/o/')) return parameterOf('token', 'Token of the image.', '^[A-Za-z0-9_-]{64,200}$');
  const characters = url.startsWith('/forward/') ? 68 : 64;
  return parameterOf('token', 'Token of the link.', `^[A-Za-z0-9_-]{${characters}}$`);
};

/** Path parameters other than `:id`. */
const PARTS: Readonly<Record<string, Json>> = {
  ':organization': parameterOf('organization', 'Id of the organization.', idPattern('org')),
  '*': parameterOf(
    'tile',
    'Path of the tile. Slashes can be percent-encoded.',
    '^(?:[0-9]{1,2}|entries)/[x0-9/.p]{3,40}$',
  ),
  ':page': { ...parameterOf('page', 'Name of a tag.', '^[a-z-]{1,40}$'), example: 'messages' },
  ':version': parameterOf('version', 'Number of the version.', '^[1-9][0-9]{0,8}$'),
  ':place': parameterOf('place', 'Place of the attachment in `attachments`, from 0.', '^(0|[1-9][0-9]{0,5})$'),
  ':replay': parameterOf('replay', 'Id of the replay.', idPattern('rpl')),
  ':delivery': parameterOf('delivery', 'Id of the delivery.', idPattern('dlv')),
  ':passkey': parameterOf('passkey', 'Id of the passkey.', idPattern('psk')),
};

/** @throws {Error} if `RESOURCES` lacks it. */
const idParameter = (collection: string): Json => {
  const resource = RESOURCES[collection];
  if (resource === undefined) throw new Error(`what does /${collection}/:id name?`);
  const [noun, shape] = resource;
  return parameterOf('id', collection === 'templates' ? `Id or alias of the ${noun}.` : `Id of the ${noun}.`, shape);
};

const pathParameters = (url: string): readonly Json[] => {
  const segments = url.split('/');
  return segments.flatMap((segment, index) => {
    const part = segment === ':token' ? tokenOf(url) : PARTS[segment];
    if (part !== undefined) return [part];
    return segment === ':id' ? [idParameter(segments[index - 1] ?? '')] : [];
  });
};

const queryParameters = (operation: Operation, schemas: Schemas): readonly Json[] => {
  const { properties = {}, required = [] } = schemas.query(operation) as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) =>
    present({ name, in: 'query', description, required: required.includes(name) ? true : undefined, schema }),
  );
};

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A value that you choose. Repeating a request with the same value and body returns the first response and has no further effect. Never expires.',
  schema: { type: 'string', pattern: '^[\\x20-\\x7e]{1,255}$' },
};

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  description: 'The `ETag` that you last received. If the resource has changed since, the response is 412.',
  schema: { type: 'string' },
};

/** Adds the value of the recorded answer. */
const withExample = (parameter: Json, { operationId }: Operation): Json => {
  const value = RECORDED_ANSWERS[operationId]?.parameters?.[String(parameter.name)];
  if (value === undefined) return parameter;
  const { type } = parameter.schema as { readonly type?: string };
  return { ...parameter, example: type === 'integer' ? Number(value) : value };
};

/** Parameters of an operation: path, query and headers. */
const parametersOf = (operation: Operation, rule: RouteRule, schemas: Schemas): readonly Json[] => {
  const idempotent = rule.permission !== null && rule.idempotent === true;
  const conditional = rule.errors.some((code) => code === 'precondition_failed');
  const named = [...pathParameters(methodAndUrl(operation.name).url), ...queryParameters(operation, schemas)];
  return [
    ...named.map((parameter) => withExample(parameter, operation)),
    ...(idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(conditional ? [IF_MATCH] : []),
  ];
};

const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'ob_live_… or ob_test_…',
    description:
      'An API key. `x-permission` is the permission that an operation requires: `admin` includes all others, and `any` means that every key may call it. Some operations also accept the token of an auditor, `ob_audit_…`.',
  },
};

const access = (rule: RouteRule): string => {
  if (rule.permission === null) return 'Needs no key.';
  const live = rule.environments.length === 1 ? ' of the live environment' : '';
  const auditor = rule.auditors === true ? ', or the token of an auditor' : '';
  const permission = rule.permission === 'any' ? 'any permission' : `\`${rule.permission}\``;
  return `Needs a key${live} with ${permission}${auditor}. Counts against its limit of \`${rule.kind}\` requests.`;
};

/** Extensions for programs: required permission, environments and rate limit. */
const extensions = (rule: RouteRule): Json =>
  rule.permission === null
    ? {}
    : {
        'x-permission': rule.permission,
        'x-environments': rule.environments,
        'x-rate-limit': rule.kind,
      };

/** `to-one-recipient` of `To one recipient`. */
const slug = (words: string): string => words.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

const examplesOf = (examples: Readonly<Record<string, unknown>> = {}): Json =>
  Object.fromEntries(Object.entries(examples).map(([summary, value]) => [slug(summary), { summary, value }]));

const requestBodyOf = (operation: Operation, schemas: Schemas): Json | undefined => {
  const { body, examples, bodyMediaTypes = ['application/json'] } = operation;
  if (body === undefined) return undefined;
  const content = { schema: schemas.body(operation), examples: examplesOf(examples) };
  return {
    required: !body.safeParse({}).success,
    content: Object.fromEntries(bodyMediaTypes.map((type) => [type, content])),
  };
};

const operationObject = (operation: Operation, schemas: Schemas): Json => {
  const rule = ruleOf(operation.name);
  const { url } = methodAndUrl(operation.name);
  const parameters = parametersOf(operation, rule, schemas);
  return present({
    operationId: operation.operationId,
    summary: operation.summary,
    description: [operation.description, access(rule)].filter((part) => part !== undefined).join('\n\n'),
    tags: [tagOf(url)],
    security: rule.permission === null ? [] : [{ apiKey: [] }],
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: requestBodyOf(operation, schemas),
    responses: responsesOf(operation, rule, schemas),
    ...extensions(rule),
  });
};

const pathsOf = (operations: readonly Operation[], schemas: Schemas): Json => {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const { method, url } = methodAndUrl(operation.name);
    const path = url.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{tile}');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(operation, schemas) };
  }
  return paths;
};

/** A redirect is not an operation, and what other services' clients ask for is described by those services. */
const isOperation = ({ name }: Operation): boolean => ruleOf(name).status !== 302 && !isCompat(name);

/** Makes the OpenAPI 3.1 document. @param publicUrl URL of the API. */
export const openApiDocument = (routes: readonly Operation[], publicUrl: string): Json => {
  const operations = routes.filter(isOperation);
  const schemas = schemasOf(operations);
  const groups = groupsOf(operations);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outbox',
      version: '1',
      summary: 'Send email, follow its delivery, and prove what happened.',
      description: INTRODUCTION,
      contact: { name: 'Operator of this service', url: publicUrl },
      license: { name: 'Proprietary', url: publicUrl },
    },
    servers: [{ url: publicUrl, description: 'This service' }],
    tags: groups.flatMap(({ tags }) => tags),
    // An extension of Redoc, which `/docs` reads too.
    'x-tagGroups': groups.map(({ name, tags }) => ({ name, tags: tags.map((tag) => tag.name) })),
    security: [{ apiKey: [] }],
    paths: pathsOf(operations, schemas),
    webhooks: WEBHOOKS,
    'x-elsewhere': responsesElsewhere(schemas),
    components: {
      schemas: schemas.components,
      headers: HEADERS,
      responses: sharedResponses(operations, schemas),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
};
