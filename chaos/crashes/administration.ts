import { type ApiAnswer, type ApiRequest, type Ask, askIn, untilAnswered } from '../harness/asking.ts';
import type { Judging } from '../harness/oracle.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';
import type { Passing } from './passing.ts';
import { sendAll } from './send-all.ts';

export interface RequestScenario {
  readonly name: string;
  /** True if the service passes the same points without a request, possibly before the request arrives. */
  readonly isDoneUnasked?: true;
  /** @returns the request during which the process dies, and a check of the response to a repeat. */
  prepare(world: World, ask: Ask): Promise<ApiRequest & { isWanted(answer: ApiAnswer): boolean }>;
  readonly more?: Judging['more'];
}

export const oneOf =
  (...statuses: readonly number[]) =>
  ({ status }: ApiAnswer): boolean =>
    statuses.includes(status);

/** Cancels a scheduled message. A repeat may find it cancelled already. */
const cancellation: RequestScenario = {
  name: 'a cancellation',
  prepare: async ({ load }) => {
    await load.scheduled(3600);
    const id = load.accepted.at(-1)?.id;
    return { path: `/v1/messages/${id}/cancel`, body: {}, isWanted: oneOf(200, 409) };
  },
};

const registration: RequestScenario = {
  name: 'the registration of a webhook',
  prepare: async ({ receiver }) => ({
    path: '/v1/webhooks',
    body: { url: receiver.url, events: ['message.*'] },
    isWanted: oneOf(201),
  }),
};

const domainsIn = async (ask: Ask): Promise<readonly { readonly id: string }[]> =>
  (JSON.parse((await ask('/v1/domains'))?.text ?? '') as { readonly data: readonly { id: string }[] }).data;

const newKey: RequestScenario = {
  name: 'the making of a key',
  prepare: async (_world, ask) => {
    const [domain] = await domainsIn(ask);
    const body = { name: 'another', domain_id: domain?.id, permissions: ['send'] };
    return { path: '/v1/api-keys', body, isWanted: oneOf(201) };
  },
};

/** A failed rotation leaves keys without a domain, so a repeat creates new ones. */
const rotation: RequestScenario = {
  name: 'the rotation of DKIM keys',
  prepare: async (_world, ask) => {
    const [domain] = await domainsIn(ask);
    return { path: `/v1/domains/${domain?.id}/dkim/rotate`, body: {}, isWanted: oneOf(200) };
  },
};

const ROWS = 40;
const LIST = Array.from({ length: ROWS }, (_, row) => `gone-${row}@example.org`);

/** Each address is a separate append. A repeat adds the missing ones and leaves existing ones alone. */
const importation: RequestScenario = {
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

interface RegisteredDomain {
  readonly id: string;
  readonly records: readonly { readonly type: string; readonly name: string; readonly value: string }[];
}

/** Verification makes three writes: the DNS observation, the name and the domain. */
const verification: RequestScenario = {
  name: 'the verification of a domain',
  isDoneUnasked: true,
  prepare: async ({ dns }, ask) => {
    const answer = await ask('/v1/domains', { name: 'other.example' });
    const { id, records } = JSON.parse(answer?.text ?? '') as RegisteredDomain;
    const texts = records.filter(({ type }) => type === 'TXT');
    dns.change(Object.fromEntries(texts.map(({ name, value }) => [name, { TXT: [value] }])));
    return {
      path: `/v1/domains/${id}/verify`,
      body: {},
      isWanted: ({ status, text }) => status === 200 && JSON.parse(text).status === 'verified',
    };
  },
};

export const diesOf = (scenario: RequestScenario, point: Passing): Scenario => ({
  name: `killed ${point} by ${scenario.name}`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, load } = world;
        const ask = askIn(world);
        await programs.start(); // the first start appends events of its own
        const { isWanted, ...request } = await scenario.prepare(world, ask);
        programs.kill();
        await programs.died();
        const isReady = await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        if (!isReady && scenario.isDoneUnasked !== true) throw new Error('the process died before it was asked');
        await ask(request.path, request.body, request.method);
        await programs.died();
        await programs.start();
        await untilAnswered(ask, request, isWanted);
        await sendAll(load);
      },
      scenario.more === undefined ? {} : { more: scenario.more },
    ),
});

const REQUEST_SCENARIOS: readonly (readonly [RequestScenario, Passing])[] = [
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

export const ADMINISTRATION_CRASHES: readonly Scenario[] = REQUEST_SCENARIOS.map(([scenario, point]) =>
  diesOf(scenario, point),
);
