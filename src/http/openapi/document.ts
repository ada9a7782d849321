import type { RouteRule } from '../route-rules.ts';
import { methodAndUrl } from '../route-table.ts';
import { INTRODUCTION, tagOf, tagsOf } from './introduction.ts';
import { isCompat, type Json, type Operation, present, ruleOf } from './operation.ts';
import { HEADERS, responsesElsewhere, responsesOf, sharedResponses } from './responses.ts';
import { type Schemas, schemasOf } from './schemas.ts';
import { WEBHOOKS } from './webhooks.ts';

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
export const parametersOf = (operation: Operation, rule: RouteRule, schemas: Schemas): readonly Json[] => {
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
