import { setTimeout as sleep } from 'node:timers/promises';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { asOperator } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

/** More than one batch. */
const OLD = 700;
const LOOKS_MAX = 100;
const LOOK_MS = 200;

/** Replies of long ago, and one of today. */
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

/** Neither lost nor kept: each old content ends as a record, and the young one stays. */
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

/** Contents go in one step with the record that they went: a crash leaves either, and the next process goes on. */
export const RETENTION_CRASHES: readonly Scenario[] = (['before-content-expire', 'after-content-expire'] as const).map(
  diesAt,
);
