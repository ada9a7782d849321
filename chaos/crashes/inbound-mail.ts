import { setTimeout as sleep } from 'node:timers/promises';
import { askIn } from '../harness/asking.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { handIn } from '../harness/hand-in.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';

const LISTENING = /"port":(\d+)[^\n]*receiving bounces and complaints/g;

const MAIL = 'From: ann@example.net\r\nSubject: Once\r\n\r\nHello\r\n';

interface ListedDomains {
  readonly data: readonly { readonly id: string; readonly name: string }[];
}

/** Turns on inbound mail. @returns the name of the domain. */
const receiveMail = async (world: World): Promise<string> => {
  const ask = askIn(world);
  const listed = await ask('/v1/domains');
  const [domain] = (JSON.parse(listed?.text ?? '{"data":[]}') as ListedDomains).data;
  if (domain === undefined) throw new Error('there is no domain');
  const changed = await ask(`/v1/domains/${domain.id}`, { inbound: { mx: true } }, 'PATCH');
  if (changed?.status !== 200) throw new Error(`inbound mail is not turned on: ${changed?.status}`);
  return domain.name;
};

const AGAIN_MS = 200;
const TRIES_MAX = 100;

/** Brings the mail until it is answered 250, like a server that retries. @returns false: it never was, or no more. */
const bring = async ({ programs }: World, name: string, isOver = () => false): Promise<boolean> => {
  const port = Number([...programs.running().output().matchAll(LISTENING)].at(-1)?.[1]);
  const mail = { envelope: { from: 'ann@example.net', to: [`support@${name}`] }, raw: MAIL };
  for (let tries = 0; tries < TRIES_MAX && !isOver(); tries += 1) {
    if (await handIn({ port }, mail)) return true;
    await sleep(AGAIN_MS); // a process that has just started does not know its domains
  }
  return false;
};

/** No 250 was sent, so the mail is brought again. */
const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by inbound mail`,
  run: () =>
    inWorld(
      { env: () => ({ BOUNCE_DOMAIN: 'bounces.chaos.example', BOUNCE_PORT: '0', LOG_LEVEL: 'info' }) },
      async (world) => {
        const { programs, load } = world;
        await programs.start();
        await load.singles(1);
        const name = await receiveMail(world);
        programs.kill();
        await programs.died();
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        let isDead = false;
        const died = programs.died().then(() => (isDead = true));
        if (await bring(world, name, () => isDead)) throw new Error('a process that died of the mail answered it 250');
        await died;
        await programs.start();
        if (!(await bring(world, name))) throw new Error('the mail is not taken');
      },
      {
        more: ({ events }) => {
          const found = events.filter(({ type }) => type === 'InboundReceived').length;
          return found === 1 ? [] : [{ promise: 'scenario', what: `the mail is ${found} times in the log` }];
        },
      },
    ),
});

/** Inbound mail must be in the log before its client is answered, and only once however often it arrives. */
export const INBOUND_MAIL_CRASHES: readonly Scenario[] = (
  ['before-append-inbound', 'after-append-inbound'] as const
).map(diesAt);
