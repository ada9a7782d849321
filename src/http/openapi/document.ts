import { isCompat, type Json, type Operation, present, ruleOf } from '../endpoint.ts';
import type { RouteRule } from '../route-rules.ts';
import { methodAndUrl } from '../route-table.ts';
import { HEADERS, responsesElsewhere, responsesOf, sharedResponses } from './responses.ts';
import { type Schemas, schemasOf, WEBHOOKS } from './schemas.ts';

/** Introduction of the document, in Markdown. */
const INTRODUCTION = `Outbox sends email for the domains of your organization. A request that is answered 202 is
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
const tagOf = (url: string): string => {
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
const tagsOf = (used: readonly string[]): readonly { readonly name: string; readonly description: string }[] =>
  [...new Set(used)].map((name) => ({ name, description: TAG_DESCRIPTIONS[name] ?? '' }));

const shapeOf = (prefix: string): string => `^${prefix}_[a-z2-7]{26}$`;
/** In the log, and as customers see it. */
const EVENT = ['event', `^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|${shapeOf('evt')}`] as const;

/** Noun and form of the id by the path segment before it. Captured mail is numbered; a template is also known by its alias. */
const RESOURCES: Readonly<Record<string, readonly [noun: string, shape: string]>> = {
  messages: ['message', shapeOf('msg')],
  'api-keys': ['API key', shapeOf('key')],
  domains: ['domain', shapeOf('dom')],
  templates: ['template', `${shapeOf('tpl')}|^[a-z0-9-]{1,64}$`],
  webhooks: ['webhook', shapeOf('whk')],
  suppressions: ['suppression', shapeOf('sup')],
  topics: ['topic', shapeOf('top')],
  erasures: ['erasure', shapeOf('ers')],
  auditors: ['auditor', shapeOf('aud')],
  members: ['member', shapeOf('mbr')],
  sessions: ['session', shapeOf('ses')],
  deliveries: ['delivery', shapeOf('dlv')],
  invoices: ['invoice', shapeOf('inv')],
  requests: ['refused request', '^req_[0-9a-f]{32}$'],
  inbox: ['captured mail', '^[0-9]{1,18}$'],
  proof: EVENT,
  disclosures: EVENT,
};

/** Token of a recipient's link. */
const TOKEN = {
  name: ':token',
  parameter: {
    name: 'token',
    in: 'path',
    required: true,
    description: 'The token of the link.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{64}$' },
  },
};

const parameterOf = (name: string, description: string, pattern: string): Json => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', pattern },
});

/** Path parameters other than `:id`. */
const PARTS: Readonly<Record<string, Json>> = {
  ':organization': parameterOf('organization', 'Id of the organization.', '^org_[a-z2-7]{26}$'),
  '*': parameterOf(
    'tile',
    'Path of the tile, its slashes as they are or encoded.',
    '^(?:[0-9]{1,2}|entries)/[x0-9/.p]{3,40}$',
  ),
  ':version': parameterOf('version', 'Number of the version.', '^[1-9][0-9]{0,8}$'),
  ':place': parameterOf('place', 'Place of the attachment in `attachments`, from 0.', '^(0|[1-9][0-9]{0,5})$'),
  ':replay': parameterOf('replay', 'Id of the replay.', '^rpl_[a-z2-7]{26}$'),
  ':delivery': parameterOf('delivery', 'Id of the delivery.', '^dlv_[a-z2-7]{26}$'),
  ':passkey': parameterOf('passkey', 'Id of the passkey.', '^psk_[a-z2-7]{26}$'),
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
    if (segment === TOKEN.name) return [TOKEN.parameter];
    const part = PARTS[segment];
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
  description: 'Repeating the key and body repeats the first response and has no further effect. Keys never expire.',
  schema: { type: 'string', pattern: '^[\\x20-\\x7e]{1,255}$' },
};

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  description: 'The `ETag` you last saw. If the resource has changed since, the response is 412.',
  schema: { type: 'string' },
};

/** Parameters of an operation: path, query and headers. */
const parametersOf = (operation: Operation, rule: RouteRule, schemas: Schemas): readonly Json[] => {
  const idempotent = rule.permission !== null && rule.idempotent === true;
  const conditional = rule.errors.some((code) => code === 'precondition_failed');
  return [
    ...pathParameters(methodAndUrl(operation.name).url),
    ...queryParameters(operation, schemas),
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
      'An API key. An operation requires the permission in its `x-permission`, of which `admin` includes all and `any` requires none. Operations that say so take the token of an auditor, `ob_audit_…`, too.',
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
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outbox',
      version: '1',
      summary: 'Sends email, reports its delivery, and keeps a record of it.',
      description: INTRODUCTION,
      contact: { name: 'Operator of this service', url: publicUrl },
      license: { name: 'Proprietary', url: publicUrl },
    },
    servers: [{ url: publicUrl, description: 'This service' }],
    tags: tagsOf(operations.map(({ name }) => tagOf(methodAndUrl(name).url))),
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
