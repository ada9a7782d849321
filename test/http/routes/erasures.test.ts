import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completeErasure } from '../../../src/commands/erasure.ts';
import { load } from '../../../src/commands/execute.ts';
import { ERASURE_COUNTS_NONE, erasure } from '../../../src/domain/erasure/erasure.ts';
import { erasureStream } from '../../../src/domain/kernel/streams.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

const ANN = { address: 'ann@example.net' };

describe('an erasure', () => {
  let service: DatabaseService;
  let key: string;
  let testKey: string;
  let manager: string;
  let other: string;

  beforeAll(async () => {
    service = await startDatabaseService();
    const keysOf = async (name: string) => {
      const organizationId = await service.makeOrganization();
      const domainId = await service.makeDomain(organizationId, name);
      return async (more: object = {}) => (await service.makeKey(organizationId, domainId, more)).value;
    };
    const make = await keysOf('example.test');
    [key, testKey, manager] = [
      await make(),
      await make({ environment: 'test' }),
      await make({ permissions: ['manage'] }),
    ];
    other = await (await keysOf('other.test'))();
  });
  afterAll(() => service.close());

  const ask = async (method: 'GET' | 'POST', url: string, payload?: object, by = key) => {
    const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers, text: answer.body };
  };

  test('is the same for every request while it runs, however the address is written, and another one afterwards', async () => {
    const first = await ask('POST', '/v1/erasures', { ...ANN, reason: 'consent_withdrawn' });
    expect([first.status, first.headers.location]).toEqual([202, `/v1/erasures/${first.body.id}`]);
    expect(first.body).toMatchObject({
      state: 'running',
      reason: 'consent_withdrawn',
      suppress: false,
      progress: { waiting_messages: 0, updated_at: null },
      certificate: null,
    });
    expect(first.text).not.toContain('ann');
    const again = await Promise.all(
      ['ann@EXAMPLE.net', 'Ann <ann@example.net>'].map((address) =>
        ask('POST', '/v1/erasures', { address, suppress: true }),
      ),
    );
    for (const { body } of again) expect(body).toEqual(first.body);
    expect((await ask('GET', `/v1/erasures/${first.body.id}`)).body).toEqual(first.body);
    const { context } = service.deps;
    const { state } = await load(context.store, erasure, erasureStream(first.body.id));
    if (state.status === 'absent') throw new Error('it is not in the log');
    for (const counts of [{ ...ERASURE_COUNTS_NONE, messages: 2 }, ERASURE_COUNTS_NONE]) {
      await completeErasure(context, state, counts);
    }
    const done = await ask('GET', `/v1/erasures/${first.body.id}`);
    expect(done.body).toMatchObject({ state: 'completed', certificate: { removed: { messages: 2, replies: 0 } } });
    const next = await ask('POST', '/v1/erasures', ANN);
    expect([next.body.state, next.body.id === first.body.id]).toEqual(['running', false]);
    expect((await ask('GET', '/v1/erasures')).body.data.map(({ id }: { id: string }) => id)).toEqual([
      next.body.id,
      first.body.id,
    ]);
  });

  test('of an address that another organization erases too is separate', async () => {
    const [mine, theirs] = [await ask('POST', '/v1/erasures', ANN), await ask('POST', '/v1/erasures', ANN, other)];
    expect(theirs.body.id).not.toBe(mine.body.id);
    expect((await ask('GET', `/v1/erasures/${mine.body.id}`, undefined, other)).body.error.code).toBe(
      'other_organization',
    );
    expect((await ask('GET', '/v1/erasures/ers_none')).status).toBe(404);
    expect((await ask('GET', '/v1/erasures', undefined, other)).body.data).toHaveLength(1);
  });

  test('can be requested by live admin keys only', async () => {
    for (const path of ['/v1/erasures', '/v1/erasures/preview']) {
      expect((await ask('POST', path, ANN, manager)).body.error.code).toBe('permission_missing');
      expect((await ask('POST', path, ANN, testKey)).body.error.code).toBe('environment_not_allowed');
    }
  });

  test.each([
    {},
    { address: null },
    { address: ['ann@example.net'] },
    { address: 'ann@example.net, bob@example.net' },
    { address: 'ann@example.net\r\nBcc: bob@example.net' },
    { address: 'ann\u0000@example.net' },
    { address: '*@example.net' + '\u202e' },
    { address: `${'a'.repeat(70_000)}@example.net` },
    { ...ANN, reason: 'because ann@example.net said so' },
    { ...ANN, suppress: 'yes' },
    { ...ANN, dry_run: true },
    { ...ANN, __proto__: null, constructor: {} },
  ])('is refused and not repeated in the response: %j', async (body) => {
    for (const path of ['/v1/erasures', '/v1/erasures/preview']) {
      const answer = await ask('POST', path, body);
      expect([400, 413]).toContain(answer.status);
      expect(answer.text).not.toContain('ann@');
    }
  });
});
