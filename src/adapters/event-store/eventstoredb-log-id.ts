import { AppendOutcomeUnknown, StoreUnavailable, WrongExpectedRevision } from '../../domain/ports/event-store.ts';
import { type AppendEvents, encodeEvent } from './eventstoredb-append.ts';
import type { Connection } from './eventstoredb-connection.ts';
import type { Reader } from './eventstoredb-read.ts';
import { LOG_ID_STREAM } from './eventstoredb-records.ts';

/** Reading after a lost race needs two rounds; a third is for an outcome that was unknown. */
const ROUNDS_MAX = 3;

const idOf = (data: unknown): string => {
  const id = (data as { readonly logId?: unknown } | undefined)?.logId;
  if (typeof id === 'string') return id;
  throw new Error(`the stream ${LOG_ID_STREAM} holds no id of this log`);
};

/** The id in the log's own stream, written by whoever comes first; the server lets only one begin a stream. */
export const createLogId = (
  { system }: Pick<Connection, 'system'>,
  appendEvents: AppendEvents,
  reader: Reader,
): { readonly logId: () => Promise<string>; readonly readLogId: () => Promise<string | null> } => {
  const readLogId = async (): Promise<string | null> => {
    const [identity] = await reader.rawStream(LOG_ID_STREAM);
    return identity === undefined ? null : idOf(identity.data);
  };

  const write = async (): Promise<void> => {
    const event = encodeEvent(system.uuid(), 'LogIdentified', { logId: system.uuid() }, {});
    try {
      await appendEvents(LOG_ID_STREAM, 'no-stream', [event]);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision || error instanceof AppendOutcomeUnknown)) throw error;
    }
  };

  const find = async (): Promise<string> => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const id = await readLogId();
      if (id !== null) return id;
      await write();
    }
    throw new StoreUnavailable(`the stream ${LOG_ID_STREAM} could not be written`);
  };

  let found: Promise<string> | undefined;
  const logId = (): Promise<string> => {
    found ??= find();
    found.catch(() => {
      found = undefined; // asked again next time
    });
    return found;
  };
  return { logId, readLogId };
};
