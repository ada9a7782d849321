import { startEventStoreDbDouble } from '../../test/support/eventstoredb-double/start.ts';
import { serveParent } from '../harness/serve-parent.ts';

const OUTCOMES: ReadonlySet<string> = new Set([
  'RecipientDelivered',
  'RecipientBounced',
  'RecipientFailed',
  'RecipientExpired',
]);
/** Hexadecimal digits of the commit position, which stands first. */
const COMMIT_DIGITS = 16;

export interface DoubleInput {
  readonly callMs: number;
  readonly readsAtOnce: number;
  readonly scannedPerSecond: number;
}

/** An EventStoreDB whose work costs what it did on a real node. */
await serveParent(async (costs: DoubleInput) => {
  const double = await startEventStoreDbDouble('24.6.0');
  Object.assign(double.costs, costs);
  return {
    facts: { url: double.directUrl },
    answers: {
      outcomesAfter: (position: string) => {
        const after = Number.parseInt(position.slice(0, COMMIT_DIGITS), 16);
        const { records, countTo } = double.log;
        return records.slice(countTo(after)).filter(({ type }) => OUTCOMES.has(type)).length;
      },
    },
    close: double.close,
  };
});
