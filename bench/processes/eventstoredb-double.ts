import { createSystem } from '../../src/adapters/system.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../test/support/eventstoredb-double/start.ts';
import { lifeOf } from '../harness/realistic-log.ts';
import { serveParent } from '../harness/serve-parent.ts';

const OUTCOMES: ReadonlySet<string> = new Set([
  'RecipientDelivered',
  'RecipientBounced',
  'RecipientFailed',
  'RecipientExpired',
]);
/** Number of hexadecimal digits of the commit position, which comes first. */
const COMMIT_DIGITS = 16;

export interface DoubleInput {
  readonly callMs: number;
  readonly readsAtOnce: number;
  readonly scannedPerSecond: number;
}

/** Writes events of message lives directly, until there are enough. */
const fill = ({ log }: EventStoreDbDouble, eventsMin: number): number => {
  const system = createSystem();
  let events = 0;
  for (let number = 0; events < eventsMin; number += 1) {
    for (const append of lifeOf(system, number)) {
      const proposed = eventCodec.encode(append.events, append.context, append).map(({ id, type, data, metadata }) => ({
        id,
        type,
        contentType: 'application/json',
        data: Buffer.from(data),
        metadata: Buffer.from(metadata),
      }));
      log.append({ ...append, events: proposed });
      events += proposed.length;
    }
  }
  return events;
};

/** An EventStoreDB double with the costs of a real node. */
await serveParent(async (costs: DoubleInput) => {
  const double = await startEventStoreDbDouble('24.6.0');
  Object.assign(double.costs, costs);
  return {
    facts: { url: double.directUrl },
    answers: {
      fill: (eventsMin: number) => fill(double, eventsMin),
      outcomesAfter: (position: string) => {
        const after = Number.parseInt(position.slice(0, COMMIT_DIGITS), 16);
        const { records, countTo } = double.log;
        return records.slice(countTo(after)).filter(({ type }) => OUTCOMES.has(type)).length;
      },
    },
    close: double.close,
  };
});
