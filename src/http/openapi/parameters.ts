import { methodAndUrl, type RouteRule } from '../route-table.ts';
import { type Json, present } from './json.ts';
import type { Operation } from './operation.ts';
import type { Schemas } from './schemas.ts';

/** By the segment of the path before the id: what it is an id of, and its prefix. */
const RESOURCES: Readonly<Record<string, readonly [noun: string, prefix: string]>> = {
  messages: ['message', 'msg'],
  'api-keys': ['API key', 'key'],
  domains: ['domain', 'dom'],
  templates: ['template', 'tpl'],
  webhooks: ['webhook', 'whk'],
  suppressions: ['suppression', 'sup'],
  deliveries: ['delivery', 'dlv'],
  invoices: ['invoice', 'inv'],
};

/** Made by us for one person, and known to nobody else. */
const TOKEN = {
  name: ':token',
  parameter: {
    ...{ name: 'token', in: 'path', required: true, description: 'As it stands in the link.' },
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{64}$' },
  },
};

const pathParameters = (url: string): readonly Json[] => {
  const segments = url.split('/');
  return segments.flatMap((segment, index) => {
    if (!segment.startsWith(':')) return [];
    if (segment === TOKEN.name) return [TOKEN.parameter];
    const [noun, prefix] = RESOURCES[segments[index - 1] ?? ''] ?? ['resource', '[a-z]{3}'];
    const schema = { type: 'string', pattern: `^${prefix}_[a-z2-7]{26}$` };
    return [{ name: segment.slice(1), in: 'path', required: true, description: `Id of the ${noun}.`, schema }];
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
  description: 'The same key and body again is answered as the first time, and nothing new is done. It never expires.',
  schema: { type: 'string', pattern: '^[\\x20-\\x7e]{1,255}$' },
};

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  description: 'The `ETag` you have seen: the change is refused with 412 when the resource is no longer that.',
  schema: { type: 'string' },
};

/** Everything of a request that is not its body. */
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
