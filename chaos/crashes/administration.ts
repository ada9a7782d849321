import { type Answered, type Ask, type Asked, askIn, untilAnswered } from '../harness/asking.ts';
import type { Judging } from '../harness/oracle.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';
import type { Passing } from './passing.ts';
import { sendAll } from './send-all.ts';

export interface Deed {
  readonly name: string;
  /** Something that goes on by itself passes the same points, perhaps before the request comes. */
  readonly isDoneUnasked?: true;
  /** @returns the request that the process dies of, and what a repeat is answered. */
  prepare(world: World, ask: Ask): Promise<Asked & { isWanted(answer: Answered): boolean }>;
  readonly more?: Judging['more'];
}

export const oneOf =
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

/** Keys of a request that failed belong to no domain: the repeat makes others. */
const rotation: Deed = {
  name: 'the rotation of DKIM keys',
  prepare: async (_world, ask) => {
    const [domain] = await domainsIn(ask);
    return { path: `/v1/domains/${domain?.id}/dkim/rotate`, body: {}, isWanted: oneOf(200) };
  },
};

const ROWS = 40;
const LIST = Array.from({ length: ROWS }, (_, row) => `gone-${row}@example.org`);

/** Each address is an append of its own: what is missing comes with the repeat, and what is there is not added again. */
const importation: Deed = {
  name: 'the import of a list',
  prepare: async () => ({
    path: '/v1/suppressions/import',
    body: { csv: ['address', ...LIST].join('\n') },
    isWanted: ({ status, text }) => {
      const { imported, unchanged } = JSON.parse(text);
      return status === 200 && imported + unchanged === ROWS;
    },
  }),
  more: ({ events }) => {
    const digests = events.flatMap(({ type, data }) => (type === 'SuppressionAdded' ? [data.digest] : []));
    if (digests.length === ROWS && new Set(digests).size === ROWS) return [];
    return [{ promise: 'suppressions', what: `${digests.length} additions of ${new Set(digests).size} addresses` }];
  },
};

interface Registered {
  readonly id: string;
  readonly records: readonly { readonly type: string; readonly name: string; readonly value: string }[];
}

/** What was seen in the DNS, the name and the domain are three writes. */
const verification: Deed = {
  name: 'the verification of a domain',
  isDoneUnasked: true,
  prepare: async ({ dns }, ask) => {
    const answer = await ask('/v1/domains', { name: 'other.example' });
    const { id, records } = JSON.parse(answer?.text ?? '') as Registered;
    const texts = records.filter(({ type }) => type === 'TXT');
    dns.change(Object.fromEntries(texts.map(({ name, value }) => [name, { TXT: [value] }])));
    return {
      path: `/v1/domains/${id}/verify`,
      body: {},
      isWanted: ({ status, text }) => status === 200 && JSON.parse(text).status === 'verified',
    };
  },
};

export const diesOf = (deed: Deed, point: Passing): Scenario => ({
  name: `killed ${point} by ${deed.name}`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, load } = world;
        const ask = askIn(world);
        await programs.start(); // the first start appends things of its own
        const { isWanted, ...request } = await deed.prepare(world, ask);
        programs.kill();
        await programs.died();
        const isReady = await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        if (!isReady && deed.isDoneUnasked !== true) throw new Error('the process died before it was asked');
        await ask(request.path, request.body, request.method);
        await programs.died();
        await programs.start();
        await untilAnswered(ask, request, isWanted);
        await sendAll(load);
      },
      deed.more === undefined ? {} : { more: deed.more },
    ),
});

const DEEDS: readonly (readonly [Deed, Passing])[] = [
  [registration, 'before-secret-put'],
  [registration, 'after-secret-put'],
  [registration, 'before-append-other'],
  [registration, 'after-append-other'],
  [newKey, 'before-append-other'],
  [newKey, 'after-append-other'],
  [cancellation, 'before-append-other'],
  [cancellation, 'after-append-other'],
  [rotation, 'before-secret-put'],
  [rotation, 'after-secret-put'],
  [rotation, 'after-secret-put#2'],
  [rotation, 'before-append-keys'],
  [rotation, 'after-append-keys'],
  [importation, 'before-append-suppression#7'],
  [importation, 'after-append-suppression#7'],
  [verification, 'before-append-check'],
  [verification, 'after-append-check'],
  [verification, 'after-append-check#2'],
  [verification, 'after-append-check#3'],
];

export const ADMINISTRATION_CRASHES: readonly Scenario[] = DEEDS.map(([deed, point]) => diesOf(deed, point));
