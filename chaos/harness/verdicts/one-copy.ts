import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import type { Disturbance } from '../disturbances.ts';
import type { Evidence } from '../evidence.ts';
import { markerOf, messageIdOf } from '../received-mail.ts';
import type { SinkMail } from '../smtp-sink.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'one copy', what });

/** Covers clock differences between processes on one machine and rounding in event times. */
const SLACK_MS = 50;

type Doubt = Extract<RecordedEvent<MessageEvent>, { type: 'AttemptOutcomeUnknown' }>;
type Start = Extract<RecordedEvent<MessageEvent>, { type: 'AttemptStarted' }>;

/** True if a fault occurred while the attempt was in flight. */
const isExcused = ({ metadata, data }: Start, disturbances: readonly Disturbance[]): boolean =>
  disturbances.some(
    ({ fromMs, toMs }) =>
      fromMs <= Date.parse(data.leaseUntil) + SLACK_MS && toMs >= Date.parse(metadata.occurredAt) - SLACK_MS,
  );

/** Copies that attempts in doubt may have delivered, by Message-ID and address. */
const doubtedCopies = (
  { contents }: Evidence,
  names: ReadonlyMap<string, string>,
  { data }: Doubt,
): readonly string[] => {
  const body = contents.get(data.contentId);
  const recipients = body?.kind === 'message' ? body.recipients : [];
  return recipients
    .filter(({ id }) => data.recipientIds.includes(id))
    .map(({ address }) => `${names.get(data.messageId)} ${address.toLowerCase()}`);
};

const isDoubt = (event: RecordedEvent): event is Doubt => event.type === 'AttemptOutcomeUnknown';

/** Number of doubts per copy. */
const doubtsByCopy = (evidence: Evidence): ReadonlyMap<string, number> => {
  const names = new Map(
    evidence.events.flatMap(({ type, data }) =>
      type === 'MessageAccepted' ? [[data.messageId, data.internetMessageId] as const] : [],
    ),
  );
  const doubted = evidence.events.filter(isDoubt).flatMap((doubt) => doubtedCopies(evidence, names, doubt));
  return new Map([...Map.groupBy(doubted, (copy) => copy)].map(([copy, same]) => [copy, same.length]));
};

/** Attempts in doubt without any fault: the service lost them on its own. */
const unexplained = ({ events, disturbances }: Evidence): readonly Violation[] => {
  const starts = new Map(
    events
      .filter((event): event is Start => event.type === 'AttemptStarted')
      .map((event) => [`${event.data.messageId} ${event.data.attempt}`, event]),
  );
  return events
    .filter(isDoubt)
    .filter(({ data }) => {
      const start = starts.get(`${data.messageId} ${data.attempt}`);
      return start === undefined || !isExcused(start, disturbances);
    })
    .map(({ data }) => violation(`attempt ${data.attempt} of ${data.messageId} is in doubt, and nothing had happened`));
};

const copiesOf = (mails: readonly SinkMail[], nameOf: (mail: SinkMail) => string): ReadonlyMap<string, SinkMail[]> => {
  const copies = new Map<string, SinkMail[]>();
  for (const mail of mails) {
    for (const to of mail.to) {
      const copy = `${nameOf(mail)} ${to.toLowerCase()}`;
      copies.set(copy, [...(copies.get(copy) ?? []), mail]);
    }
  }
  return copies;
};

/** A request has one Message-ID, however often it is repeated. */
const renamed = ({ mails }: Evidence): readonly Violation[] =>
  [...copiesOf(mails, markerOf)].flatMap(([copy, same]) => {
    const names = new Set(same.map(messageIdOf));
    return names.size > 1
      ? [violation(`${copy} arrived under ${names.size} Message-IDs: ${[...names].join(', ')}`)]
      : [];
  });

export type Doubles = 'in the window' | 'never';

/**
 * A recipient may get a second copy only if a fault left an attempt in doubt while it was in flight, and only with the
 * same Message-ID.
 * @param doubles `never`: the scenario knows that no fault occurred between the final dot and the recorded outcome.
 */
export const oneCopy = (evidence: Evidence, doubles: Doubles): readonly Violation[] => {
  const doubts = doubles === 'never' ? new Map<string, number>() : doubtsByCopy(evidence);
  const many = [...copiesOf(evidence.mails, messageIdOf)]
    .filter(([copy, same]) => same.length > 1 + (doubts.get(copy) ?? 0))
    .map(([copy, same]) =>
      violation(`${copy} arrived ${same.length} times, and was in doubt ${doubts.get(copy) ?? 0} times`),
    );
  return [...many, ...renamed(evidence), ...unexplained(evidence)];
};
