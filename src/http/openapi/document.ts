import { methodAndUrl, type RouteRule } from '../route-table.ts';
import { HEADERS } from './headers.ts';
import { INTRODUCTION } from './introduction.ts';
import { type Json, present } from './json.ts';
import { type Operation, ruleOf } from './operation.ts';
import { parametersOf } from './parameters.ts';
import { responsesElsewhere, responsesOf, sharedResponses } from './responses.ts';
import { type Schemas, schemasOf } from './schemas.ts';
import { tagOf, tagsOf } from './tags.ts';
import { WEBHOOKS } from './webhooks.ts';

const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'ob_live_… or ob_test_…',
    description: 'An API key. `x-permission` of an operation is the permission that it needs; `admin` has them all.',
  },
};

const access = (rule: RouteRule): string => {
  if (rule.permission === null) return 'Needs no key.';
  const live = rule.environments.length === 1 ? ' of the live environment' : '';
  return `Needs a key${live} with \`${rule.permission}\`. Counts against its limit of \`${rule.kind}\` requests.`;
};

/** For whoever reads the document by program: what a key must be able to do, and which limit it costs. */
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
    const path = url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(operation, schemas) };
  }
  return paths;
};

/** What a browser is led away from is nobody's operation. */
const isOperation = ({ name }: Operation): boolean => ruleOf(name).status !== 302;

/** The OpenAPI 3.1 document of these operations. @param publicUrl where clients reach them. */
export const openApiDocument = (routes: readonly Operation[], publicUrl: string): Json => {
  const operations = routes.filter(isOperation);
  const schemas = schemasOf(operations);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outbox',
      version: '1',
      summary: 'Sends mail, tells what became of it, and can prove it later.',
      description: INTRODUCTION,
      contact: { name: 'Whoever runs this service', url: publicUrl },
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
