import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOMER_EVENT_TYPES } from '../../../src/domain/customer-events/customer-event-types.ts';
import type { ErrorCode } from '../../../src/domain/kernel/errors.ts';
import { errorsOf, isCompat, ruleOf } from '../../../src/http/endpoint.ts';
import { ERROR_STATUSES } from '../../../src/http/errors.ts';
import { isRouteName, methodAndUrl, ROUTES } from '../../../src/http/route-table.ts';
import { closed } from '../../support/openapi/answer-check.ts';
import {
  type LocatedSchema,
  nameIn,
  type OpenApi,
  type OpenApiResponse,
  operationsOf,
  readOpenApi,
} from '../../support/openapi/document.ts';
import { strictOpenApi } from '../../support/openapi/strict.ts';
import { type Service, startService } from '../support/service.ts';

/**
 * Routes that are operations of the document. Not included: redirects (the root for browsers, tracked links), screens
 * for people, and routes for clients of other services, which those services document.
 */
const names = Object.keys(ROUTES)
  .filter(isRouteName)
  .filter((name) => ruleOf(name).status !== 302 && !('dashboard' in ruleOf(name)) && !isCompat(name));

let service: Service;
let source: unknown;
let document: OpenApi;
let operations: readonly LocatedSchema[];

beforeAll(async () => {
  service = await startService();
  source = (await service.request({ url: '/openapi.json' })).json();
  document = readOpenApi(source);
  operations = operationsOf(document);
});
afterAll(() => service.close());

/** A value and all objects in it. */
const within = (value: unknown): readonly object[] => {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(within)];
};

/** Contents of a success, with what was recorded. */
const successContents = ({ responses }: LocatedSchema['operation']) =>
  Object.entries(responses).flatMap(([status, response]) =>
    status.startsWith('2') && 'content' in response ? Object.values((response as OpenApiResponse).content ?? {}) : [],
  );

const references = (value: unknown): readonly string[] =>
  within(value).flatMap((one) => ('$ref' in one && typeof one.$ref === 'string' ? [one.$ref] : []));

const located = (name: (typeof names)[number]): LocatedSchema | undefined => {
  const { method, url } = methodAndUrl(name);
  const path = url.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{tile}');
  return operations.find((one) => one.method === method && one.path === path);
};

const codesOf = (document: OpenApi, { operation }: LocatedSchema): readonly string[] =>
  Object.values(operation.responses).flatMap((response) => {
    const found = '$ref' in response ? document.components.responses[nameIn(String(response.$ref))] : response;
    return (found as { 'x-error-codes'?: string[] } | undefined)?.['x-error-codes'] ?? [];
  });

/** Pages that are not sent again to a client that has cached them. */
const PREPARED: readonly string[] = ['GET /openapi.json', 'GET /docs', 'GET /docs/:page'];
/** Answers without an example: bytes, and the reference itself. */
const WITHOUT_EXAMPLE = [
  'downloadInboundAttachment',
  'getCapturedAttachment',
  'getInboundAttachment',
  'getTlogTile',
  'loadPixel',
  'openapi',
  'docs',
  'docsPart',
];

/** A route without 4xx errors of its own still rejects malformed HTTP. */
const isOpen = (errors: readonly ErrorCode[]): boolean => errors.every((code) => ERROR_STATUSES[code] >= 500);
const codesWith = (errors: readonly ErrorCode[]): readonly ErrorCode[] =>
  isOpen(errors) ? [...errors, 'invalid_request'] : errors;
const refusedWith = (errors: readonly ErrorCode[]): readonly number[] => [
  ...errors.map((code) => ERROR_STATUSES[code]),
  ...(isOpen(errors) ? [400] : []),
];

describe('/openapi.json', () => {
  test('is OpenAPI 3.1 in every object of it', () => {
    expect(strictOpenApi.safeParse(source).error?.issues ?? []).toEqual([]);
  });

  test('describes every route of the table and no other', () => {
    const described = operations.map(
      ({ method, path }) => `${method} ${path.replace('{tile}', '*').replaceAll(/\{(\w+)\}/g, ':$1')}`,
    );
    expect(described.sort()).toEqual([...names].sort());
  });

  test.each(names)('lists exactly the statuses and codes of the table for %s', (name) => {
    const rule = ruleOf(name);
    const found = located(name);
    const errors = errorsOf(rule);
    const unchanged = PREPARED.includes(name) ? [304] : [];
    const statuses = [rule.status, ...unchanged, ...refusedWith(errors)].map(String);
    expect(Object.keys(found?.operation.responses ?? {}).sort()).toEqual([...new Set(statuses)].sort());
    const codes = found === undefined ? [] : codesOf(document, found);
    expect([...codes].sort()).toEqual([...codesWith(errors)].sort());
  });

  test('names every operation once, as a program would', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
    expect(ids).toEqual(expect.arrayContaining(['sendMessage', 'listMessages', 'createKey', 'rotateKey', 'getStats']));
  });

  test('refers only to what is there, and contains no component without references', () => {
    const { 'x-elsewhere': _elsewhere, ...standard } = source as Readonly<Record<string, unknown>>;
    const all = references(standard); // programs do not read the extension
    const broken = all.filter((reference) => {
      const place = reference.split('/').slice(1);
      return place.reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], source) === undefined;
    });
    expect(broken).toEqual([]);
    const pointedAt = new Set(all);
    const unused = Object.entries(document.components)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, components]) => Object.keys(components as object).map((name) => `#/components/${kind}/${name}`))
      .filter((component) => !pointedAt.has(component));
    expect(unused).toEqual([]);
  });

  test('has schemas that are JSON Schema 2020-12, without unknown keywords or formats', () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
    addFormats.default(ajv);

    const components = JSON.stringify(document.components.schemas).replaceAll('"#/components/schemas/', '"');
    const schemas = JSON.parse(components) as Record<string, object>;
    for (const [name, schema] of Object.entries(schemas)) ajv.addSchema({ ...schema, $id: name });
    for (const name of Object.keys(schemas)) expect(() => ajv.getSchema(name), name).not.toThrow();
    const parameters = operations.flatMap(({ operation }) => operation.parameters);
    for (const { name, schema } of parameters) expect(() => ajv.compile(schema), name).not.toThrow();
  });

  test('has examples that fit their schemas', () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
    addFormats.default(ajv);
    ajv.addVocabulary(['components']);
    ajv.addSchema({ components: { schemas: closed(document.components.schemas) } }, 'document');
    const problemsIn = (schema: object, examples: readonly (readonly [what: string, value: unknown])[]) => {
      const fits = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')));
      return examples.flatMap(([what, value]) => (fits(value) ? [] : [what, fits.errors]));
    };
    const problems = operations.flatMap(({ operation }) => [
      ...Object.values(operation.requestBody?.content ?? {}).flatMap(({ schema, examples }) =>
        problemsIn(
          schema,
          Object.values(examples).map(({ summary, value }) => [summary, value]),
        ),
      ),
      ...operation.parameters.flatMap(({ name, schema, example }) =>
        example === undefined ? [] : problemsIn(schema, [[`${operation.operationId} ${name}`, example]]),
      ),
      ...successContents(operation).flatMap(({ schema, example }) =>
        example === undefined ? [] : problemsIn(closed(schema), [[operation.operationId, example]]),
      ),
    ]);
    expect(problems).toEqual([]);
  });

  test('has an example of every success with a body', () => {
    const without = operations
      .filter(({ operation }) => successContents(operation)[0]?.example === undefined)
      .filter(({ operation }) => successContents(operation).length > 0);
    expect(without.map(({ operation }) => operation.operationId).sort()).toEqual(WITHOUT_EXAMPLE.toSorted());
  });

  test('has examples without secrets and without traces of the machine that recorded them', () => {
    const text = JSON.stringify(
      operations.map(({ operation }) => successContents(operation).map((one) => one.example)),
    );
    expect(text.match(/(?:ob_(?:live|test|audit|link)|whsec)_(?!…)[^" ]{0,20}/g)).toBeNull();
    expect(
      text.match(/-----BEGIN [A-Z ]*PRIVATE KEY|127\.0\.0\.1|localhost|\/(?:root|home|tmp|work|Users)\//g),
    ).toBeNull();
  });

  test('describes each part of a path, and nothing else', () => {
    const told = operations.map(({ path, operation }) => {
      const described = operation.parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`);
      return [path, described];
    });
    expect(told).toEqual(operations.map(({ path }) => [path, path.match(/\{\w+\}/g) ?? []]));
  });

  test('says what every parameter and every field of a request is for', () => {
    const parameters = operations.flatMap(({ operation: { operationId, parameters: all } }) =>
      all.filter(({ description }) => description === undefined).map(({ name }) => `${operationId}: ${name}`),
    );
    const fields = Object.entries(document.components.schemas)
      .filter(([name]) => name.endsWith('Request'))
      .flatMap(([name, { properties = {} }]) =>
        Object.entries(properties as Readonly<Record<string, object>>)
          .filter(([, schema]) => !('description' in schema))
          .map(([field]) => `${name}: ${field}`),
      );
    expect([...parameters, ...fields]).toEqual([]);
  });

  test('says what every tag is about', () => {
    const { tags } = source as { readonly tags: readonly { name: string; description: string }[] };
    expect(tags.filter(({ description }) => description === '')).toEqual([]);
    const used = new Set(operations.flatMap(({ operation }) => operation.tags));
    expect(tags.map(({ name }) => name).sort()).toEqual([...used].sort());
  });

  test('has an example for every body', () => {
    const without = operations.filter(({ operation: { requestBody } }) => {
      const [{ examples } = { examples: {} }] = Object.values(requestBody?.content ?? {});
      return requestBody !== undefined && Object.keys(examples).length === 0;
    });
    expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  test('accepts Idempotency-Key and If-Match where the table says so', () => {
    const taking = (header: string): readonly string[] =>
      operations
        .filter(({ operation }) => operation.parameters.some(({ name }) => name === header))
        .map(({ operation }) => operation.operationId);
    expect(taking('Idempotency-Key')).toContain('sendMessage');
    expect(taking('Idempotency-Key')).not.toContain('createKey');
    expect(taking('If-Match')).toEqual(expect.arrayContaining(['rotateKey', 'revokeKey', 'deleteWebhook']));
    expect(taking('If-Match')).not.toContain('getKey');
  });

  test('documents the headers of answers', () => {
    const headers = (id: string, status: string): readonly string[] => {
      const response = operations.find(({ operation }) => operation.operationId === id)?.operation.responses[status];
      return Object.keys((response as { headers?: object } | undefined)?.headers ?? {});
    };
    expect(headers('createKey', '201')).toEqual(
      expect.arrayContaining(['X-Request-Id', 'RateLimit', 'RateLimit-Limit', 'ETag', 'Location', 'Cache-Control']),
    );
    expect(headers('sendMessage', '202')).toContain('Idempotent-Replayed');
    expect(headers('getMessage', '200')).toContain('ETag');
    expect(headers('getMessageContent', '200')).not.toContain('ETag');
    expect(headers('livez', '200')).toEqual(['X-Request-Id']);
    const { RateLimitExceeded, Unauthorized } = document.components.responses;
    expect(Object.keys(RateLimitExceeded?.headers ?? {})).toContain('Retry-After');
    expect(Object.keys(Unauthorized?.headers ?? {})).toEqual(['X-Request-Id', 'WWW-Authenticate']);
    expect(Object.keys(document['x-elsewhere'][405]?.headers ?? {})).toContain('Allow');
  });

  test('introduces the reader to the general rules', () => {
    const { info } = source as { readonly info: { readonly description: string } };
    const headings = [...info.description.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([
      'Authentication',
      'Environments',
      'Errors',
      'Idempotency',
      'Concurrent changes',
      'Rate limits',
      'Lists',
      'Versions',
    ]);
  });

  test('requires what must be sent in a request, and nothing that has a default', () => {
    const all = within(document.components.schemas);
    const fields = new Set(all.map((one) => (one as { readonly properties?: unknown }).properties));
    const bodies = all.filter((one) => 'default' in one && !fields.has(one)); // a field may be called `default`
    expect(bodies).toEqual([]);
    expect(document.components.schemas.SendMessageRequest?.properties).toMatchObject({
      stream: { description: expect.stringContaining('Default: `"transactional"`.') },
    });
  });

  test('has a schema for the data of every type of event, distinguished by its type', () => {
    const { anyOf } = document.components.schemas.Event as { readonly anyOf: readonly { readonly $ref: string }[] };
    const types = anyOf.flatMap(({ $ref }) => {
      const { properties } = document.components.schemas[nameIn($ref)] as {
        readonly properties: { readonly type: { readonly enum: readonly string[] } };
      };
      return properties.type.enum;
    });
    expect(types.toSorted()).toEqual([...CUSTOMER_EVENT_TYPES].sort());
    const { properties } = document.components.schemas.MessageBouncedEvent as {
      readonly properties: { readonly data: { readonly required: readonly string[] } };
    };
    expect(properties.data.required).toEqual(expect.arrayContaining(['message_id', 'recipient', 'smtp', 'reason']));
  });

  test('says what a send needs', () => {
    const schema = document.components.schemas.SendMessageRequest;
    expect(schema).toMatchObject({ required: ['to'], additionalProperties: false });
  });
});
