import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import type { Caller } from '../../../src/domain/api-key/caller.ts';
import { describeRefusal } from '../../../src/http/refused-requests/refusal-recorder.ts';

const CALLER: Caller = {
  keyId: 'key_a',
  secret: 1,
  organizationId: 'org_a',
  environment: 'live',
  permissions: ['send'],
  bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
  domain: { id: 'dom_a', name: 'example.test', verified: true },
};

/** Describes the rejection of a request with this body and these details. */
const describe = (body: object, details: Readonly<Record<string, readonly string[]>>, withBody = true) => {
  const bytes = Buffer.from(JSON.stringify(body, null, 2));
  const sentJson = { beginning: () => ({ bytes, isWhole: true }), contentBytes: () => undefined };
  // The fields of the request that are read.
  const request = {
    ...{ id: 'req_a', method: 'POST', url: '/v1/messages/send?to=ann@example.org', ip: '192.0.2.1' },
    ...{ headers: {}, is404: false, routeOptions: { url: '/v1/messages/send' }, sentJson },
  } as unknown as FastifyRequest;
  const reply = { statusCode: 400, elapsedTime: 1.4 } as FastifyReply;
  const refusal = { code: 'invalid_request', message: 'the request is invalid: see details', details } as const;
  return describeRefusal(refusal, CALLER, { request, reply, at: new Date(0), withBody });
};

test('names no person after whom a field is named', () => {
  const body = { 'Ann Person': 1, metadata: { 'Ann Person': 2 }, to: ['ann@example.org', { 'ann.p@b.c': 1 }] };
  const described = describe(body, {
    'Ann Person': ['Ann Person is not a known field'],
    'messages[0].Ann Person': ['messages[0].Ann Person is not a known field'],
    metadata: ['metadata.Ann Person must be a string', 'metadata must have at most 50 keys'],
    'ann.p@example.org': ['ann.p@example.org is not a known field'],
    to: ['to[1].ann.p@b.c is not a known field', 'to[1].address is required'],
  });
  expect(described.problems.map(({ field, sentence, pointer }) => [field, sentence, pointer])).toEqual([
    ['***', '*** is not a known field', '/***'],
    ['messages[0].***', 'messages[0].*** is not a known field', null],
    ['metadata', 'metadata.*** must be a string', '/metadata/***'],
    ['metadata', 'metadata must have at most 50 keys', '/metadata'],
    ['***', '*** is not a known field', null],
    ['to', 'to[1].*** is not a known field', '/to/1/***'],
    ['to', 'to[1].address is required', '/to/1'],
  ]);
  const { addresses, ...recorded } = described;
  expect(addresses).toEqual(['ann@example.org']);
  expect(JSON.stringify(recorded).toLowerCase()).not.toMatch(/ann|person/);
});

test('keeps a sentence about either of two fields', () => {
  const path = 'messages[4].html';
  const details = { html: ['html or text is required'], [path]: [`${path} or text is required`] };
  expect(describe({ to: 'a' }, details).problems.map(({ sentence }) => sentence)).toEqual([
    'html or text is required',
    `${path} or text is required`,
  ]);
  const person = { metadata: ['metadata.html or Ann is required', 'metadata or Ann Person is required'] };
  expect(JSON.stringify(describe({ metadata: {} }, person).problems)).not.toMatch(/Ann/);
});

test('has no body and no places if it is counted with others', () => {
  const { body, problems, addresses } = describe({ to: 'ann@example.org' }, { to: ['to must be an array'] }, false);
  expect([body, problems[0]?.line, addresses]).toEqual([null, null, []]);
});

test('is bounded, however many problems there are', () => {
  const many = Array.from({ length: 100 }, (_, index) => `to[${index}] must be ${'x'.repeat(10_000)}`);
  const { problems } = describe({ to: many.map(() => 1) }, { to: many });
  expect(problems).toHaveLength(20);
  expect(JSON.stringify(problems).length).toBeLessThan(20 * 500);
});
