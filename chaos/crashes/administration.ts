import type { FailPointName } from '../../src/composition/fail-points.ts';
import { type Answered, type Ask, askIn, untilAnswered } from '../harness/asking.ts';
import { chosenFor } from '../harness/order.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

interface Deed {
  readonly name: string;
  /** @returns the request that the process dies of, and what a repeat is answered. */
  prepare(world: World, ask: Ask): Promise<{ path: string; body: unknown; isWanted(answer: Answered): boolean }>;
}

const oneOf =
  (...statuses: readonly number[]) =>
  ({ status }: Answered): boolean =>
    statuses.includes(status);

/** A message for later that its sender calls off: its repeat may find it done. */
const cancellation: Deed = {
  name: 'a cancellation',
  prepare: async ({ load }) => {
    await load.scheduled(3600);
    const id = load.accepted.at(-1)?.id;
    return { path: `/v1/messages/${id}/cancel`, body: {}, isWanted: oneOf(200, 409) };
  },
};

const registration: Deed = {
  name: 'the registration of a webhook',
  prepare: async ({ receiver }) => ({
    path: '/v1/webhooks',
    body: { url: receiver.url, events: ['message.*'] },
    isWanted: oneOf(201),
  }),
};

const domainsIn = async (ask: Ask): Promise<readonly { readonly id: string }[]> =>
  (JSON.parse((await ask('/v1/domains'))?.text ?? '') as { readonly data: readonly { id: string }[] }).data;

const newKey: Deed = {
  name: 'the making of a key',
  prepare: async (_world, ask) => {
    const [domain] = await domainsIn(ask);
    const body = { name: 'another', domain_id: domain?.id, permissions: ['send'] };
    return { path: '/v1/api-keys', body, isWanted: oneOf(201) };
  },
};

/** Keys that were made in vain are nobody's: the repeat makes others. */
const rotation: Deed = {
  name: 'the rotation of DKIM keys',
  prepare: async (_world, ask) => {
    const [domain] = await domainsIn(ask);
    return { path: `/v1/domains/${domain?.id}/dkim/rotate`, body: {}, isWanted: oneOf(200) };
  },
};

interface Registered {
  readonly id: string;
  readonly records: readonly { readonly type: string; readonly name: string; readonly value: string }[];
}

/** What was seen in the DNS, the name and the domain are three writes. */
const verification: Deed = {
  name: 'the verification of a domain',
  prepare: async ({ dns }, ask) => {
    const answer = await ask('/v1/domains', { name: 'other.example' });
    const { id, records } = JSON.parse(answer?.text ?? '') as Registered;
    const texts = records.filter(({ type }) => type === 'TXT');
    dns.change(Object.fromEntries(texts.map(({ name, value }) => [name, { TXT: [value] }])));
    return {
      ...{ path: `/v1/domains/${id}/verify`, body: {} },
      isWanted: ({ status, text }) => status === 200 && JSON.parse(text).status === 'verified',
    };
  },
};

/** A point, and which of its passings where it is not the first. */
type At = FailPointName | `${FailPointName}#${number}`;

const diesOf = (deed: Deed, point: At): Scenario => ({
  name: `killed ${point} by ${deed.name}`,
  run: () =>
    inWorld({}, async (world) => {
      const { programs, load } = world;
      const ask = askIn(world);
      await programs.start(); // the first start appends things of its own
      const { isWanted, ...request } = await deed.prepare(world, ask);
      programs.kill();
      await programs.died();
      await programs.startToDie({ OUTBOX_FAIL_POINT: point });
      await ask(request.path, request.body);
      await programs.died();
      await programs.start();
      await untilAnswered(ask, request, isWanted);
      await sendAll(load);
    }),
});

/** What the first start appends: an organization, a domain and two keys. (Where mail is captured it also verifies.) */
const FIRST_APPENDS = 4;

/** The next start completes it, and whoever reads what it prints has keys that work. */
const diesAtFirstStart = (point: FailPointName): Scenario => ({
  name: `killed ${point} by the first start`,
  run: (seed) =>
    inWorld({}, async ({ programs, load }) => {
      await programs.startToDie({ OUTBOX_FAIL_POINT: `${point}#${chosenFor(seed, point, FIRST_APPENDS)}` });
      await programs.died();
      await programs.start();
      const { live } = programs.running().keys;
      const answer = await askIn({ programs, key: live })('/v1/domains');
      if (answer?.status !== 200) throw new Error(`the key that was printed is answered ${answer?.status}`);
      await sendAll(load);
    }),
});

const DEEDS: readonly (readonly [Deed, At])[] = [
  [registration, 'before-secret-put'],
  [registration, 'after-secret-put'],
  [registration, 'before-append-other'],
  [registration, 'after-append-other'],
  [newKey, 'before-append-other'],
  [newKey, 'after-append-other'],
  [cancellation, 'before-append-other'],
  [cancellation, 'after-append-other'],
  [rotation, 'before-secret-put'],
  [rotation, 'after-secret-put#2'],
  [rotation, 'before-append-keys'],
  [rotation, 'after-append-keys'],
  [verification, 'before-append-check'],
  [verification, 'after-append-check'],
  [verification, 'after-append-check#2'],
  [verification, 'after-append-check#3'],
];

export const ADMINISTRATION_CRASHES: readonly Scenario[] = [
  ...DEEDS.map(([deed, point]) => diesOf(deed, point)),
  ...(['before-append-other', 'after-append-other'] as const).map(diesAtFirstStart),
];
