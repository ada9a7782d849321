import { setTimeout as sleep } from 'node:timers/promises';
import { askIn } from '../harness/asking.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { handIn } from '../harness/hand-in.ts';
import { killPostgres } from '../harness/kill-postgres.ts';
import type { Judging } from '../harness/oracle.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World, WorldOptions } from '../harness/world.ts';
import { inWorld } from './in-world.ts';

const LISTENING = /"port":(\d+)[^\n]*receiving bounces and complaints/g;

/** A mail of its own for each number: the same bytes would be the same inbound message. */
const mailOf = (number: number): string => `From: ann@example.net\r\nSubject: Once ${number}\r\n\r\nHello\r\n`;

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
/** A restart and the recovery of the database take a minute on a busy machine. */
const TRIES_MAX = 300;

/** The port at which the program receives mail; null: it is not running. */
const receivingPort = ({ programs }: World): number | null => {
  try {
    return Number([...programs.running().output().matchAll(LISTENING)].at(-1)?.[1]) || null;
  } catch {
    return null;
  }
};

/** Brings the mail until it is answered 250, like a server that retries. @returns false: it never was, or no more. */
const bring = async (world: World, name: string, number = 0, isOver = () => false): Promise<boolean> => {
  const mail = { envelope: { from: 'ann@example.net', to: [`support@${name}`] }, raw: mailOf(number) };
  for (let tries = 0; tries < TRIES_MAX && !isOver(); tries += 1) {
    const port = receivingPort(world);
    if (port !== null && (await handIn({ port }, mail))) return true;
    await sleep(AGAIN_MS); // a process that has just started does not know its domains
  }
  return false;
};

const OPTIONS: WorldOptions = {
  env: () => ({ BOUNCE_DOMAIN: 'bounces.chaos.example', BOUNCE_PORT: '0', LOG_LEVEL: 'info' }),
};

/** Judges that the log has each mail once. */
const eachOnce = (mails: number): Judging => ({
  more: ({ events }) => {
    const found = events.filter(({ type }) => type === 'InboundReceived').length;
    return found === mails ? [] : [{ promise: 'scenario', what: `${mails} mails are ${found} times in the log` }];
  },
});

/** No 250 was sent, so the mail is brought again. */
const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by inbound mail`,
  run: () =>
    inWorld(
      OPTIONS,
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
        if (await bring(world, name, 0, () => isDead))
          throw new Error('a process that died of the mail answered it 250');
        await died;
        await programs.start();
        if (!(await bring(world, name))) throw new Error('the mail is not taken');
      },
      eachOnce(1),
    ),
});

/** Senders that bring one mail after the other. */
const SENDERS = 8;
const MAILS_EACH = 10;

/** Brings the mails of a sender. */
const sendAll = async (world: World, name: string, sender: number): Promise<void> => {
  for (let at = 0; at < MAILS_EACH; at += 1)
    if (!(await bring(world, name, sender * MAILS_EACH + at))) throw new Error('a mail is not taken');
};

/** The log has every mail that was answered 250. The client brings the others again, whenever a process ended. */
const endsWhileMailArrives = (what: string, builtIn: boolean, ends: (world: World) => Promise<void>): Scenario => ({
  name: `${what} while inbound mail arrives`,
  run: () =>
    inWorld(
      { ...OPTIONS, builtIn },
      async (world) => {
        await world.programs.start();
        await world.load.singles(1);
        const name = await receiveMail(world);
        const sending = Promise.all(Array.from({ length: SENDERS }, (_, sender) => sendAll(world, name, sender)));
        // Unheard while the processes end, a failure would end this one.
        sending.catch(() => undefined);
        if (!(await bring(world, name, SENDERS * MAILS_EACH))) throw new Error('no mail is taken');
        await ends(world);
        await sending;
      },
      eachOnce(SENDERS * MAILS_EACH + 1),
    ),
});

const killProgram = async ({ programs }: World): Promise<void> => {
  programs.kill();
  await programs.died();
  await programs.start();
};

/** Inbound mail must be in the log before its client is answered, and only once however often it arrives. */
export const INBOUND_MAIL_CRASHES: readonly Scenario[] = [
  diesAt('before-append-inbound'),
  diesAt('after-append-inbound'),
  endsWhileMailArrives('the program is killed', false, killProgram),
  endsWhileMailArrives('the database is killed', true, async (world) => killPostgres(await world.postmasterPid())),
];
