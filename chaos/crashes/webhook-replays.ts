import { customerEvents } from '../../src/domain/customer-events/customer-events.ts';
import { type Ask, askIn, untilAnswered } from '../harness/asking.ts';
import { readLog } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import { asOperator } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

const parsed = async (ask: Ask, path: string, body?: unknown) => JSON.parse((await ask(path, body))?.text ?? '');

/** The process dies while it turns past events into deliveries. Each event is posted again under its id. */
const diesOfReplay = (point: FailPointName): Scenario => {
  let owed: readonly string[] = [];
  return {
    name: `killed ${point} by a replay to a webhook`,
    run: () =>
      inWorld(
        {},
        async (world) => {
          const { programs, load } = world;
          const ask = askIn(world);
          await programs.start();
          await sendAll(load);
          await load.settle();
          programs.kill();
          await programs.died();
          await asOperator(world, async (operator) => {
            const events = (await readLog(operator)).flatMap(customerEvents);
            owed = events.flatMap(({ id, type }) => (type.startsWith('message.') ? [id] : []));
          });
          await programs.startToDie({ OUTBOX_FAIL_POINT: point });
          const [{ id }] = (await parsed(ask, '/v1/webhooks')).data;
          const { id: replayId } = await parsed(ask, `/v1/webhooks/${id}/replay`, { after: 'start' });
          await programs.died();
          await programs.start();
          await untilAnswered(ask, { path: `/v1/webhooks/${id}/replays/${replayId}` }, ({ text }) => {
            const { status, deliveries } = JSON.parse(text);
            return status === 'completed' && deliveries.pending === 0;
          });
        },
        {
          more: ({ posts }) => {
            const again = new Set(posts.flatMap(({ id, isReplayed }) => (isReplayed ? [id] : [])));
            const missing = owed.filter((id) => !again.has(id));
            return missing.length === 0
              ? []
              : [{ promise: 'webhooks', what: `${missing.length} of ${owed.length} events were not replayed` }];
          },
        },
      ),
  };
};

export const WEBHOOK_REPLAY_CRASHES: readonly Scenario[] = [
  diesOfReplay('before-webhook-replay'),
  diesOfReplay('after-webhook-replay'),
];
