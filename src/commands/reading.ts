import type { READINGS } from '../domain/audit/events.ts';
import { sha256 } from '../domain/kernel/digest.ts';
import { WrongExpectedRevision } from '../domain/kernel/event-store.ts';
import { readingStream } from '../domain/kernel/streams.ts';
import { type CommandContext, eventContext, type Origin } from './execute.ts';

/** Records who read personal data (`DataRead`). */

export interface NoteReading {
  readonly what: (typeof READINGS)[number];
  /** null: all that there is. */
  readonly subjectId: string | null;
}

const ALL_PERCENT = 100;

type ReadingContext = Pick<CommandContext, 'store' | 'system' | 'readingsPercent'>;

const isOnRecord = ({ system, readingsPercent = ALL_PERCENT }: ReadingContext): boolean => {
  const [dice = 0] = system.randomBytes(1);
  return dice < (readingsPercent / ALL_PERCENT) * 256;
};

const appendReading = async (
  { store, system, readingsPercent = ALL_PERCENT }: ReadingContext,
  origin: Origin,
  { readingId, ...reading }: NoteReading & { readonly readingId: string },
): Promise<void> => {
  const data = { organizationId: origin.organizationId, ...reading, percent: readingsPercent };
  await store.append({
    stream: readingStream(readingId),
    expected: 'no-stream',
    events: [{ id: system.uuid(), type: 'DataRead', data }],
    context: eventContext(origin, system.now().toISOString()),
  });
};

/** Records the reading of personal data before the data is shown. @param originOf called only if it is recorded. */
export const noteReading = async (
  context: ReadingContext,
  originOf: () => Promise<Origin>,
  reading: NoteReading,
): Promise<void> => {
  if (!isOnRecord(context)) return;
  await appendReading(context, await originOf(), { ...reading, readingId: context.system.uuid() });
};

interface NoteListReading {
  /** Names the principal, the list and the minute: it is recorded once, whichever process shows the list. */
  readonly id: string;
  readonly route: string;
}

/** Records that a list showed addresses, unless it is on record for this principal and minute. */
export const noteListReading = async (
  context: ReadingContext,
  originOf: () => Promise<Origin>,
  { id, route }: NoteListReading,
): Promise<void> => {
  if (!isOnRecord(context)) return;
  const reading = { what: 'addresses', subjectId: route, readingId: sha256(id).toString('hex') } as const;
  try {
    await appendReading(context, await originOf(), reading);
  } catch (error) {
    if (!(error instanceof WrongExpectedRevision)) throw error;
  }
};
