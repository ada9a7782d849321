import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bodyOf, createRequestBodies } from '../../../src/http/bodies.ts';
import { BODY_LIMITS, type BodyBudget, createBodyBudget } from '../../../src/lib/http/body-budget.ts';
import type { JsonBounds } from '../../../src/lib/http/bounded-json.ts';

// Deadlines share a timer, which the first body starts.
beforeAll(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] }));
afterAll(() => void vi.useRealTimers());

const ORGANIZATION = 'org_a';
const LARGE = 24_000_000;
const CONTENT = 'A'.repeat(500_000);

interface OpenOptions {
  readonly budget: BodyBudget;
  readonly contentType: string;
}

/** A request whose body arrives in the pieces that a test writes. */
const openRequest = (
  bounds: JsonBounds,
  { budget = createBodyBudget(), contentType = 'application/json' }: Partial<OpenOptions> = {},
) => {
  const payload = Object.assign(new PassThrough(), { complete: false });
  const request = {
    headers: { 'content-type': contentType, 'transfer-encoding': 'chunked' },
    ip: '192.0.2.1',
    caller: { organizationId: ORGANIZATION },
    routeOptions: { config: { bounds } },
    bodyReservation: null,
    bodyRefusal: null,
  } as unknown as FastifyRequest;
  const bodies = createRequestBodies(budget, 'content:');
  const parse = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      bodies.parse(request, payload as unknown as IncomingMessage, (error, value) =>
        error === null ? resolve(value) : reject(error),
      );
    });
  return { budget, bodies, payload, request, parse };
};

describe('the memory of a body', () => {
  test('is what its value takes once it has been read', async () => {
    const { budget, payload, parse } = openRequest(bodyOf(64_000));
    payload.end('{"name":"short"}');
    expect(await parse()).toEqual({ name: 'short' });
    expect(budget.held()).toBeGreaterThan(0);
    expect(budget.held()).toBeLessThan(1_000);
  });

  test('includes the contents of its attachments', async () => {
    const bounds = { ...bodyOf(1_000_000), contentsAt: ['attachments', null, 'content'] };
    const { budget, payload, parse } = openRequest(bounds);
    payload.end(JSON.stringify({ attachments: [{ content: CONTENT }] }));
    await parse();
    expect(budget.held()).toBeGreaterThan(CONTENT.length);
    expect(budget.held()).toBeLessThan(CONTENT.length + 10_000);
  });

  test('includes the fields of a form', async () => {
    const contentType = 'application/x-www-form-urlencoded';
    const { budget, payload, parse } = openRequest({ ...bodyOf(1_000_000), takesForms: true }, { contentType });
    payload.end(`text=${CONTENT}`);
    await parse();
    expect(budget.held()).toBeGreaterThan(CONTENT.length);
    expect(budget.held()).toBeLessThan(CONTENT.length + 10_000);
  });

  test('keeps only its beginning as it was sent', async () => {
    const { payload, parse, request } = openRequest(bodyOf(1_000_000));
    payload.end(JSON.stringify({ name: 'x'.repeat(900_000) }));
    await parse();
    const beginning = request.sentJson?.beginning();
    expect(beginning).toMatchObject({ isWhole: false });
    expect(beginning?.bytes.buffer.byteLength).toBeLessThan(300_000);
  });

  test('is free when the client goes while the request is served', async () => {
    const { budget, bodies, payload, parse, request } = openRequest(bodyOf(64_000));
    const raw = new EventEmitter();
    bodies.releaseAtEnd(request, { raw } as unknown as FastifyReply);
    payload.end('{}');
    await parse();
    raw.emit('close');
    expect(budget.held()).toBe(0);
  });

  test('is free if the client had gone before', async () => {
    const { budget, payload, parse, request } = openRequest(bodyOf(64_000));
    payload.destroy();
    await parse();
    expect(request.bodyRefusal).toMatchObject({ code: 'invalid_json' });
    expect(budget.held()).toBe(0);
  });

  test('is not taken once the body was too slow while it waited for memory', async () => {
    const budget = createBodyBudget({ ...BODY_LIMITS, patienceMs: 600_000 });
    const others = Array.from({ length: 3 }, () => budget.reserveNow(ORGANIZATION, LARGE));
    const { payload, parse, request } = openRequest(bodyOf(LARGE), { budget });
    const parsed = parse();
    payload.write(JSON.stringify({ name: 'x'.repeat(300_000) }).slice(0, -1));
    await vi.advanceTimersByTimeAsync(120_000);
    await parsed;
    expect(request.bodyRefusal?.message).toMatch(/did not arrive within/);
    for (const other of others) other?.release();
    await new Promise(setImmediate);
    expect(budget.held()).toBe(0);
  });
});
