import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../src/domain/kernel/environment.ts';
import { formatId } from '../../src/domain/kernel/ids.ts';
import { bounce } from './support/bounced.ts';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';
import { expectAnswer, HOLDERS, openWalkTenant, requestOf, type WalkTenant } from './support/walk.ts';
import { messageFrom } from './support/walk-bodies.ts';
import {
  ALL_KINDS,
  expectedOf,
  GUARDED,
  type Holder,
  type Kind,
  lawOf,
  missing,
  othersOf,
  unauthorizedFor,
  type WalkedRoute,
} from './support/walk-routes.ts';
import { bearer, type Headers, makeStrangers, STRANGERS } from './support/walk-strangers.ts';

const LIVE_ADMIN: Holder = { permission: 'admin', environment: 'live' };
const TEST_ADMIN: Holder = { permission: 'admin', environment: 'test' };

let service: DatabaseService;
let own: WalkTenant;
let other: WalkTenant;
let strangers: Readonly<Record<string, Headers>>;
/** A key with all permissions, restricted to an address that no client uses. */
let elsewhere: string;
/** A key with `send` and `read` for another domain of the same organization. */
let neighbour: string;
/** One live resource of each kind in the caller's organization, which no request of the walk may change. */
const existing: Partial<Record<Kind, string>> = {};
/** One live and one test resource of each kind in the other organization, with its own view of them. */
const others: Partial<Record<Kind, readonly SeenAnswer[]>> = {};

beforeAll(async () => {
  service = await startDatabaseService({ webhooksMax: 10_000 });
  own = await openWalkTenant(service);
  other = await openWalkTenant(service);
  strangers = await makeStrangers(service, own);
  for (const kind of ALL_KINDS) {
    existing[kind] = await own.make(kind, 'live');
    const ids = [await other.make(kind, 'live'), await other.make(kind, 'test')] as const;
    others[kind] = [await see(other, kind, ids[0], LIVE_ADMIN), await see(other, kind, ids[1], TEST_ADMIN)];
  }
  const { organizationId, domainId } = own;
  elsewhere = (await service.makeKey(organizationId, domainId, { allowedCidrs: ['192.0.2.1'] })).value;
  const second = await own.make('domains', 'live');
  neighbour = (await service.makeKey(organizationId, second, { permissions: ['send', 'read'] })).value;
});
afterAll(() => service.close());

interface SeenAnswer {
  readonly id: string;
  readonly by: Holder;
  readonly body: string;
  readonly etag: unknown;
}

/** A resource in the view of its own organization. */
const see = async (tenant: WalkTenant, kind: Kind, id: string, by: Holder): Promise<SeenAnswer> => {
  const key = tenant.keyOf(lawOf(kind).isOnlyLive === true ? LIVE_ADMIN : by);
  const { statusCode, body, headers } = await service.request({ url: `/v1/${kind}/${id}`, key });
  const { isUnrevised, isReport, isContent } = lawOf(kind);
  const etag = (isUnrevised ?? isReport ?? isContent) === true ? undefined : expect.stringMatching(/^"\d+"$/);
  expect([statusCode, headers.etag]).toEqual([200, etag]);
  // A report contains the time at which it was made.
  return { id, by, body: isReport === true ? '' : body, etag: headers.etag };
};

const ask = (route: WalkedRoute, headers: Headers, more: InjectOptions & { readonly id?: string } = {}) => {
  const { id = route.kind === null ? '' : existing[route.kind], ...options } = more;
  return service.request({ ...requestOf(route, own, id), headers: { ...headers }, ...options });
};

/** An id for the route's path, if the path names a resource. */
/** Only a message that bounced can be sent again. */
const bouncedMessage = async (environment: Environment): Promise<string> => {
  const key = own.keyOf({ permission: 'admin', environment });
  const payload = messageFrom(own.domainName);
  const sent = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
  const { id } = sent.json();
  await bounce(service, id);
  return id;
};

const idFor = async ({ name, kind }: WalkedRoute, { environment }: Holder): Promise<{ readonly id?: string }> => {
  if (name === 'POST /v1/messages/:id/resend') return { id: await bouncedMessage(environment) };
  return kind === null ? {} : { id: await own.make(kind, environment) };
};

/** Asserts that `work` writes no event. */
const withoutTrace = async (work: () => Promise<void>): Promise<void> => {
  const { store } = service.deps.context;
  const head = await store.head();
  await work();
  expect(await store.head()).toBe(head);
};

const named = GUARDED.flatMap((route) => (route.kind === null ? [] : [{ ...route, kind: route.kind }]));

/** A body that is not valid JSON. */
const broken = (headers: Headers): InjectOptions => ({
  payload: '{"broken',
  headers: { ...headers, 'content-type': 'application/json' },
});

describe.each(GUARDED)('$name', (route) => {
  const { rule, method, kind } = route;
  const takesBody = method !== 'GET';
  const admitted = HOLDERS.filter((holder) => expectedOf(rule, holder).error === null);
  const refused = HOLDERS.filter((holder) => !admitted.includes(holder));

  test.each(STRANGERS)('answers %s with 401, whatever the body contains', async (stranger) => {
    await withoutTrace(async () => {
      const headers = strangers[stranger] ?? {};
      const answer = await ask(route, headers);
      expectAnswer(answer, unauthorizedFor(headers.authorization));
      expect(answer.headers['www-authenticate']).toBe(rule.basic === true ? 'Basic realm="Outbox"' : 'Bearer');
      if (takesBody) expectAnswer(await ask(route, headers, broken(headers)), unauthorizedFor(headers.authorization));
    });
  });

  test('answers a key from another address than its own with 403', async () => {
    const message = expect.stringMatching(
      /^API key is not allowed from this address, [\d.]+: use it from a network in its allowed_cidrs$/,
    );
    expectAnswer(await ask(route, bearer(elsewhere)), { status: 403, error: { code: 'address_not_allowed', message } });
  });

  const expectLimit = ({ headers }: Awaited<ReturnType<typeof ask>>): void => {
    expect(headers['ratelimit-policy']).toBe(`"${rule.kind}";q=1000000;w=60`);
    expect(headers['ratelimit-limit']).toBe('1000000');
  };

  test.each(admitted)('accepts a $environment key with $permission only', async (holder) => {
    const answer = await ask(route, bearer(own.keyOf(holder)), await idFor(route, holder));
    expectAnswer(answer, { status: rule.status, error: null });
    expectLimit(answer);
    // Routes of the transparency log set their own Cache-Control.
    if (route.url.startsWith('/v1/audit/tlog/')) return;
    expect(answer.headers['cache-control']).toBe(rule.secret === true ? 'no-store' : undefined);
  });

  test.each(refused)('refuses a $environment key with $permission only, whatever the body contains', async (holder) => {
    const headers = bearer(own.keyOf(holder));
    const expected = expectedOf(rule, holder);
    await withoutTrace(async () => {
      const answer = await ask(route, headers);
      expectAnswer(answer, expected);
      expectLimit(answer);
      if (takesBody) expectAnswer(await ask(route, headers, broken(headers)), expected);
    });
  });

  test('refuses the Idempotency-Key unless it accepts one', async () => {
    const headers = { ...bearer(own.keyOf(LIVE_ADMIN)), 'idempotency-key': route.name };
    if (rule.idempotent === true) return expectAnswer(await ask(route, headers), { status: rule.status, error: null });
    const answer = await ask(route, headers);
    if (rule.membersOnly === true) return expectAnswer(answer, expectedOf(rule, LIVE_ADMIN)); // a key is rejected first
    expect([answer.statusCode, answer.json().error]).toEqual([
      400,
      {
        code: 'header_not_allowed',
        message: 'this endpoint does not accept an Idempotency-Key: remove the header',
        details: { 'Idempotency-Key': ['Idempotency-Key is not accepted here'] },
      },
    ]);
    if (kind !== null) expect((await ask(route, headers, { id: 'nothing' })).json()).toEqual(answer.json());
  });
});

describe.each(named)('$name', (route) => {
  const { rule, kind } = route;
  const law = lawOf(kind);

  test.each(HOLDERS)(
    "refuses what is another organization's to a $environment key with $permission",
    async (holder) => {
      const allowed = expectedOf(rule, holder);
      for (const before of others[kind] ?? []) {
        await withoutTrace(async () => {
          const answer = await ask(route, bearer(own.keyOf(holder)), { id: before.id });
          expectAnswer(answer, allowed.error === null ? othersOf(kind) : allowed);
        });
        expect(await see(other, kind, before.id, before.by)).toEqual(before);
      }
    },
  );

  test.each([
    { by: LIVE_ADMIN, of: TEST_ADMIN },
    { by: TEST_ADMIN, of: LIVE_ADMIN },
  ])('answers a $by.environment key about what is $of.environment as the law of its kind says', async ({ by, of }) => {
    const id = await own.make(kind, of.environment);
    const before = await see(own, kind, id, of);
    const expected = expectedOf(rule, by);
    const headers = bearer(own.keyOf(by));
    if (expected.error === null && law.sees(by.environment, of.environment))
      return expectAnswer(await ask(route, headers, { id }), expected);
    await withoutTrace(async () =>
      expectAnswer(await ask(route, headers, { id }), expected.error === null ? missing(kind) : expected),
    );
    expect(await see(own, kind, id, of)).toEqual(before);
  });

  test('answers what does not exist, cannot exist or is of another kind with 404', async () => {
    const kinds = ALL_KINDS.filter((one) => lawOf(one).noun !== law.noun).map((one) => existing[one] ?? '');
    const { prefix } = law;
    const unformed =
      prefix === null
        ? ['0', '-1', '9'.repeat(18), '9'.repeat(19)]
        : [formatId(prefix, new Uint8Array(16)), prefix, `${existing[kind]}`.toUpperCase()];
    for (const id of [...unformed, 'nothing', '%00', `${existing[kind]}a`, ...kinds])
      expectAnswer(await ask(route, bearer(own.keyOf(LIVE_ADMIN)), { id }), missing(kind));
  });

  if (law.ofOneDomain && (rule.permission === 'send' || rule.permission === 'read'))
    test('answers a key with only send and read about another domain with 404', async () => {
      await withoutTrace(async () => expectAnswer(await ask(route, bearer(neighbour)), missing(kind)));
    });
});
