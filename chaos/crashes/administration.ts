import { setTimeout as sleep } from 'node:timers/promises';
import type { FailPointName } from '../../src/composition/fail-points.ts';
import { chosenFor } from '../harness/order.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

/** One request of an administrator. @returns what was answered; null: nothing. */
type Ask = (path: string, body?: unknown) => Promise<{ readonly status: number; readonly text: string } | null>;

const REQUEST_MS = 10_000;
const AGAIN_MS = 200;
const TIMES_MAX = 100;

const askWith =
  (baseUrl: () => string, key: string): Ask =>
  async (path, body) => {
    try {
      const response = await fetch(baseUrl() + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      return null;
    }
  };

/** What a patient administrator does. @throws {Error} it never became one of these. */
const untilAnswered = async (ask: Ask, path: string, body: unknown, wanted: readonly number[]): Promise<void> => {
  let last = '';
  for (let time = 0; time < TIMES_MAX; time += 1) {
    const answer = await ask(path, body);
    if (answer !== null && wanted.includes(answer.status)) return;
    last = JSON.stringify(answer);
    await sleep(AGAIN_MS);
  }
  throw new Error(`${path} is not answered: ${last}`);
};

interface Deed {
  readonly name: string;
  /** @returns path and body of the request that the process dies of, and the statuses that a repeat may get. */
  prepare(world: World, ask: Ask): Promise<{ path: string; body: unknown; wanted: readonly number[] }>;
}

/** A message for later that its sender calls off: its repeat may find it done. */
const cancellation: Deed = {
  name: 'a cancellation',
  prepare: async ({ load }) => {
    await load.scheduled(3600);
    const id = load.accepted.at(-1)?.id;
    return { path: `/v1/messages/${id}/cancel`, body: {}, wanted: [200, 409] };
  },
};

const registration: Deed = {
  name: 'the registration of a webhook',
  prepare: async ({ receiver }) => ({
    path: '/v1/webhooks',
    body: { url: receiver.url, events: ['message.*'] },
    wanted: [201],
  }),
};

const newKey: Deed = {
  name: 'the making of a key',
  prepare: async (_world, ask) => {
    const domains = JSON.parse((await ask('/v1/domains'))?.text ?? '') as { readonly data: readonly { id: string }[] };
    const body = { name: 'another', domain_id: domains.data[0]?.id, permissions: ['send'] };
    return { path: '/v1/api-keys', body, wanted: [201] };
  },
};

const diesOf = (deed: Deed, point: FailPointName): Scenario => ({
  name: `killed ${point} by ${deed.name}`,
  run: () =>
    inWorld({}, async (world) => {
      const { programs, load, key } = world;
      const ask = askWith(programs.baseUrl, key);
      await programs.start(); // the first start appends things of its own
      const { path, body, wanted } = await deed.prepare(world, ask);
      programs.kill();
      await programs.died();
      await programs.startToDie({ OUTBOX_FAIL_POINT: point });
      await ask(path, body);
      await programs.died();
      await programs.start();
      await untilAnswered(ask, path, body, wanted);
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
      const answer = await askWith(programs.baseUrl, live)('/v1/domains');
      if (answer?.status !== 200) throw new Error(`the key that was printed is answered ${answer?.status}`);
      await sendAll(load);
    }),
});

const DEEDS: readonly (readonly [Deed, FailPointName])[] = [
  [registration, 'before-secret-put'],
  [registration, 'after-secret-put'],
  [registration, 'before-append-other'],
  [registration, 'after-append-other'],
  [newKey, 'before-append-other'],
  [newKey, 'after-append-other'],
  [cancellation, 'before-append-other'],
  [cancellation, 'after-append-other'],
];

export const ADMINISTRATION_CRASHES: readonly Scenario[] = [
  ...DEEDS.map(([deed, point]) => diesOf(deed, point)),
  ...(['before-append-other', 'after-append-other'] as const).map(diesAtFirstStart),
];
