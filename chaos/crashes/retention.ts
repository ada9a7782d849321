import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiAnswer, askIn, untilAnswered } from '../harness/asking.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { World } from '../harness/world.ts';
import { asOperator, untilInLog } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

/** Exceeds one batch. */
const OLD = 700;
const LOOKS_MAX = 100;
const LOOK_MS = 200;
const DAY_MS = 86_400_000;

/** Stores expired replies and one of today. */
const storeReplies = (world: World): Promise<void> =>
  asOperator(world, async ({ pool }, { organizationId }) => {
    const text = `
      insert into vault.contents (id, organization_id, kind, message_id, body, created_at)
      select gen_random_uuid(), $1, 'reply', 'msg_old', '{"kind":"reply","messageId":"msg_old","text":"250 ok"}',
        now() - case when n = 0 then interval '0' else interval '31 days' end
      from generate_series(0, $2::integer) n`;
    await pool.query(text, [organizationId, OLD]);
  });

const COUNT = `
  select count(*) filter (where kind = 'expired' and body ->> 'at' is not null)::int as expired,
    count(*) filter (where message_id = 'msg_old')::int as kept
  from vault.contents`;

/** Waits until each expired content is replaced by a record and the recent one remains. */
const untilExpired = (world: World): Promise<void> =>
  asOperator(world, async ({ pool }) => {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const { rows } = await pool.query<{ expired: number; kept: number }>(COUNT);
      if (rows[0]?.expired === OLD && rows[0].kept === 1) return;
      await sleep(LOOK_MS);
    }
    throw new Error('old contents did not all expire, each with a record');
  });

const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by retention`,
  run: () =>
    inWorld({}, async (world) => {
      const { programs, load } = world;
      await storeReplies(world);
      await programs.startToDie({ OUTBOX_FAIL_POINT: point });
      await programs.died();
      await programs.start();
      await sendAll(load);
      await untilExpired(world);
    }),
});

const PERSON = 'gone@person.example.net';

/** Writes a suppression and a message that is not sent yet, because mail that arrives is judged by its contents. */
const writeAbout = async (world: World): Promise<void> => {
  const ask = askIn(world);
  const isDone = ({ status }: ApiAnswer): boolean => status < 300;
  await untilAnswered(
    ask,
    { path: '/v1/suppressions', body: { address: PERSON, scope: 'bulk', note: PERSON } },
    isDone,
  );
  const listed = await untilAnswered(ask, { path: '/v1/domains' }, isDone);
  const from = `a@${JSON.parse(listed).data[0].name}`;
  const scheduled_at = new Date(Date.now() + DAY_MS).toISOString();
  const body = { from, to: PERSON, subject: PERSON, text: PERSON, scheduled_at };
  await untilAnswered(ask, { path: '/v1/messages/send', body }, isDone);
};

/** Everything must have been removed and counted once, with one event. */
const erasedOnce = ({ events, contents }: Evidence): readonly Violation[] => {
  const counts = events.flatMap(({ type, data }) => (type === 'PersonErased' ? [data.counts] : []));
  const [first] = counts;
  const isNamed = [...contents.values()].some((body) => JSON.stringify(body).includes(PERSON));
  if (counts.length === 1 && first?.messages === 1 && first.suppressionEvidence === 1 && !isNamed) return [];
  return [{ promise: 'scenario', what: `erased ${JSON.stringify(counts)}; the person is named: ${isNamed}` }];
};

const diesOfErasing = (point: FailPointName): Scenario => ({
  name: `killed ${point} by the erasure of a person`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, load } = world;
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        await writeAbout(world);
        await askIn(world)('/v1/erasures', { address: PERSON });
        await programs.died();
        await programs.start();
        await sendAll(load);
        await untilInLog(world, (log) => log.some(({ type }) => type === 'PersonErased'), {
          looksMax: LOOKS_MAX,
          never: 'the person was not erased',
        });
      },
      { more: erasedOnce },
    ),
});

/**
 * Contents are deleted and the deletion is recorded in one transaction. A crash leaves either state, and the next
 * process continues. What an erasure removes is counted in the same transaction.
 */
export const RETENTION_CRASHES: readonly Scenario[] = [
  ...(['before-content-expire', 'after-content-expire'] as const).map(diesAt),
  ...(
    [
      'before-content-erase',
      'after-content-erase',
      'before-append-erased',
      'after-append-erased',
      'before-erasure-note',
      'after-erasure-note',
    ] as const
  ).map(diesOfErasing),
];
