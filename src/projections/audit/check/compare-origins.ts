import type { RecordedEvent } from '../../../domain/kernel/event-store.ts';
import { ORIGIN_DAYS, type RequestOrigins } from '../../../domain/ports/requests.ts';
import type { System } from '../../../lib/async/async.ts';
import { rootOfPart } from '../../../lib/transparency/transparency.ts';

/** Compares the clients behind changes, in the vault, with the roots in the log. Nothing but their age removes them. */
export interface CompareOrigins {
  readonly origins: Pick<RequestOrigins, 'partOf'>;
  readonly system: Pick<System, 'now'>;
  readonly signal: AbortSignal;
  /** Takes a sentence. */
  onFault(sentence: string): void;
}

export interface OriginComparison {
  readonly clients: number;
}

/** Each is a query. More takes connections from requests. */
const AT_ONCE = 4;
const DAY_MS = 86_400_000;
/** Clocks of the database and of processes may differ. */
const TOLERANCE_MS = 3_600_000;

const isBound = ({ metadata }: RecordedEvent): boolean => metadata.originRoot !== undefined;

export const createOriginComparison = ({ origins, system, signal, onFault }: CompareOrigins) => {
  let clients = 0;

  const faultOf = async ({ metadata }: RecordedEvent): Promise<string | null> => {
    const { organizationId, originId = '', originRoot, occurredAt } = metadata;
    const part = await origins.partOf(organizationId, originId);
    if (part !== null) return rootOfPart(part) === originRoot ? null : 'its client is another than the one that asked';
    const isOver = Date.parse(occurredAt) + ORIGIN_DAYS * DAY_MS < system.now().getTime() + TOLERANCE_MS;
    return isOver ? null : `its client is gone before the ${ORIGIN_DAYS} days that it is kept`;
  };

  const compareOne = async (event: RecordedEvent): Promise<void> => {
    const fault = await faultOf(event);
    if (fault !== null) onFault(`event ${event.id} of ${event.metadata.organizationId}: ${fault}`);
  };

  return {
    /** Those that events of a page are bound to. */
    compare: async (events: readonly RecordedEvent[]): Promise<void> => {
      const bound = events.filter(isBound);
      clients += bound.length;
      for (let from = 0; from < bound.length; from += AT_ONCE) {
        signal.throwIfAborted();
        await Promise.all(bound.slice(from, from + AT_ONCE).map(compareOne));
      }
    },
    counts: (): OriginComparison => ({ clients }),
  };
};
