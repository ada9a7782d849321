import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { openSuppressionTenant, type SuppressionTenant } from '../../support/suppression-tenant.ts';

let service: DatabaseService;
let tenant: SuppressionTenant;
beforeAll(async () => {
  service = await startDatabaseService();
  tenant = await openSuppressionTenant(service);
});
afterAll(() => service.close());

const NOTHING = { transactional: false, bulk: false };
const ALL = { transactional: true, bulk: true };
const HOUR_MS = 3_600_000;
const inAnHour = (): string => new Date(Date.now() + HOUR_MS).toISOString();

let people = 0;
const newPerson = (): string => {
  people += 1;
  return `person${people}@example.net`;
};

describe('adding one address', () => {
  test('answers 201 with the suppression, its location, and the note', async () => {
    const address = newPerson();
    const { status, body, headers } = await tenant.add({ address, note: 'by telephone', scope: 'bulk' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^sup_[a-z2-7]{26}$/),
      object: 'suppression',
      address,
      environment: 'live',
      status: 'active',
      scope: 'bulk',
      reason: 'manual',
      expires_at: null,
      created_at: expect.any(String),
      entries: [
        {
          reason: 'manual',
          scope: 'bulk',
          topic_id: null,
          status: 'active',
          evidence: 'by telephone',
          message_id: null,
          recipient_id: null,
          added_at: body.created_at,
          expires_at: null,
          removed_at: null,
        },
      ],
    });
    expect(headers.location).toBe(`/v1/suppressions/${body.id}`);
    const read = await tenant.ask('GET', `/${body.id}`);
    expect([read.status, read.body]).toEqual([200, body]);
    expect(read.headers.etag).toBe('"0"');
  });

  test('a second time writes nothing, and with another expiry changes that', async () => {
    const address = newPerson();
    const first = await tenant.add({ address });
    expect((await tenant.add({ address: address.toUpperCase(), note: 'again' })).body).toEqual(first.body);
    const expires = inAnHour();
    const { body } = await tenant.add({ address, expires_at: expires });
    expect([body.id, body.expires_at, body.entries.length]).toEqual([first.body.id, expires, 1]);
  });

  test('is one suppression for any number of concurrent requests', async () => {
    const address = newPerson();
    const answers = await Promise.all(Array.from({ length: 5 }, () => tenant.add({ address })));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    const [{ body } = { body: null }] = answers;
    expect((await tenant.ask('GET', `/${body.id}`)).headers.etag).toBe('"0"');
  });

  test.each([
    [{}, { address: ['address is required'] }],
    [{ address: 'nobody' }, { address: ['address is not an email address'] }],
    [{ address: 'a@example.net\r\nBcc: b@example.net' }, { address: ['address is not an email address'] }],
    [{ address: 'a\0@example.net' }, { address: ['address is not an email address'] }],
    [{ address: ['a@example.net'] }, { address: ['address must be a string'] }],
    [{ address: 'a@example.net', scope: 'most' }, { scope: ['scope must be one of all, transactional, bulk, topic'] }],
    [
      { address: 'a@example.net', expires_at: '2020-01-01T00:00:00Z' },
      { expires_at: ['expires_at must be in the future'] },
    ],
    [{ address: 'a@example.net', note: 'a\0b' }, { note: ['note must not contain NUL or unpaired surrogates'] }],
    [{ address: 'a@example.net', reason: 'bounce' }, { reason: ['reason is not a known field'] }],
    [
      { address: 'a@example.net', addresses: ['b@example.net'] },
      { addresses: ['send either addresses or address, not both'] },
    ],
    [{ addresses: [] }, { addresses: ['addresses must not be empty'] }],
    [
      { addresses: Array.from({ length: 1001 }, (_, index) => `a${index}@example.net`) },
      { addresses: ['addresses must have at most 1000 items'] },
    ],
  ])('refuses %j', async (payload, details) => {
    const { status, body } = await tenant.add(payload);
    expect([status, body.error.code, body.error.details]).toEqual([400, 'invalid_request', details]);
  });
});

describe('adding several addresses', () => {
  test('reports each once, and how many were already on the list', async () => {
    const [one, two] = [newPerson(), newPerson()];
    await tenant.add({ address: one });
    const { status, body } = await tenant.add({ addresses: [one, two, two.toUpperCase()] });
    expect([status, body.added, body.unchanged]).toEqual([201, 1, 1]);
    expect(body.data.map(({ address }: { address: string }) => address)).toEqual([one, two]);
  });

  test('accepts a thousand', async () => {
    const addresses = Array.from({ length: 1000 }, () => newPerson());
    const { status, body } = await tenant.add({ addresses });
    expect([status, body.added, body.data.length]).toEqual([201, 1000, 1000]);
  });
});

describe('whether an address is suppressed', () => {
  test('is answered at once, for each message class and any spelling', async () => {
    const address = newPerson();
    expect(await tenant.check(address)).toEqual(NOTHING);
    await tenant.add({ address, scope: 'bulk' });
    expect(await tenant.check(address.toUpperCase())).toEqual({ transactional: false, bulk: true });
    await tenant.add({ address, scope: 'transactional' });
    expect(await tenant.check(address)).toEqual(ALL);
    expect((await tenant.ask('GET', `/check?address=${address}`)).body.suppression.scope).toBe('all');
  });

  test('is not the same for another organization, or in the other environment', async () => {
    const address = newPerson();
    const { body } = await tenant.add({ address });
    const other = await openSuppressionTenant(service);
    expect(await other.check(address)).toEqual(NOTHING);
    const theirs = await other.add({ address });
    expect(theirs.body.id).not.toBe(body.id);
    for (const method of ['GET', 'DELETE'] as const) {
      const refused = await other.ask(method, `/${body.id}`);
      expect([refused.status, refused.body.error.code]).toEqual([403, 'other_organization']);
    }
    const test = await tenant.makeKey('admin', 'test');
    expect((await tenant.ask('GET', `/${body.id}`, undefined, test)).status).toBe(404);
    expect((await tenant.ask('GET', `/check?address=${address}`, undefined, test)).body.suppressed).toEqual(NOTHING);
  });

  test('asks for an address', async () => {
    const { status, body } = await tenant.ask('GET', '/check?address=nobody');
    expect([status, body.error.details]).toEqual([400, { address: ['address is not an email address'] }]);
    expect((await tenant.ask('GET', '/check')).status).toBe(400);
  });
});

describe('removing an address from the list', () => {
  test('applies at once, stays on record, and is undone by adding it', async () => {
    const address = newPerson();
    const { body } = await tenant.add({ address, note: 'first' });
    expect((await tenant.ask('DELETE', `/${body.id}`)).status).toBe(204);
    expect(await tenant.check(address)).toEqual(NOTHING);
    expect(await tenant.addresses(`?address=${address}`)).toEqual([]);
    const read = await tenant.ask('GET', `/${body.id}`);
    expect(read.body).toMatchObject({
      address,
      status: 'removed',
      entries: [{ evidence: 'first', status: 'removed' }],
    });
    expect((await tenant.ask('DELETE', `/${body.id}`)).status).toBe(204);
    expect((await tenant.ask('GET', `/${body.id}`)).headers.etag).toBe('"1"');
    expect((await tenant.add({ address })).body).toMatchObject({ id: body.id, status: 'active' });
    expect(await tenant.check(address)).toEqual(ALL);
  });

  test('is refused when it has changed since it was read', async () => {
    const { body } = await tenant.add({ address: newPerson() });
    const headers = { 'if-match': '"7"' };
    const url = `/v1/suppressions/${body.id}`;
    const answer = await service.request({ method: 'DELETE', url, key: tenant.admin, headers });
    expect(answer.statusCode).toBe(412);
  });

  test.each(['sup_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'sup_', 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa', '%00'])(
    'is 404 for %s',
    async (id) => {
      expect((await tenant.ask('DELETE', `/${id}`)).status).toBe(404);
      expect((await tenant.ask('GET', `/${id}`)).status).toBe(404);
    },
  );
});

describe('the list', () => {
  test('is newest first, in pages, without what has expired', async () => {
    const own = await openSuppressionTenant(service);
    const all = Array.from({ length: 5 }, () => newPerson());
    for (const address of all) await own.add({ address });
    const soon = new Date(Date.now() + 1500).toISOString();
    await own.add({ address: newPerson(), expires_at: soon });
    const first = await own.ask('GET', '?limit=3');
    expect(first.body.has_more).toBe(true);
    while (new Date().toISOString() <= soon) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await own.addresses()).toEqual(all.toReversed());
    const { body } = await own.ask('GET', '?limit=3');
    const rest = await own.addresses(`?limit=3&after=${body.next_cursor}`);
    expect([...body.data.map(({ address }: { address: string }) => address), ...rest]).toEqual(all.toReversed());
    expect((await tenant.ask('GET', '?after=x')).body.error.code).toBe('invalid_cursor');
  });

  test('is filtered by reason, scope and address', async () => {
    const own = await openSuppressionTenant(service);
    const [manual, bulk, imported] = [newPerson(), newPerson(), newPerson()];
    await own.add({ address: manual });
    await own.add({ address: bulk, scope: 'bulk' });
    await own.importCsv(`address\n${imported}\n`);
    expect(await own.addresses('?reason=manual')).toEqual([bulk, manual]);
    expect(await own.addresses('?reason=import')).toEqual([imported]);
    expect(await own.addresses('?scope=bulk')).toEqual([bulk]);
    expect(await own.addresses('?scope=bulk&reason=import')).toEqual([]);
    expect(await own.addresses(`?address=${manual.toUpperCase()}`)).toEqual([manual]);
    expect((await own.ask('GET', '?reason=whim')).status).toBe(400);
  });
});

describe('the keys', () => {
  test.each([
    ['read', 200, 403, 403],
    ['manage', 403, 201, 200],
    ['send', 403, 403, 403],
  ] as const)(
    'with %s are answered %i when they read, %i when they add, %i when they import',
    async (permission, ...expected) => {
      const key = await tenant.makeKey(permission);
      const answers = [
        await tenant.ask('GET', '', undefined, key),
        await tenant.ask('POST', '', { address: newPerson() }, key),
        await tenant.ask('POST', '/import', { csv: `address\n${newPerson()}\n` }, key),
      ];
      expect(answers.map(({ status }) => status)).toEqual(expected);
    },
  );
});
