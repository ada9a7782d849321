import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { MESSAGE_OUTCOMES, type MessageOutcome } from '../../../src/projections/messages/outcomes.ts';
import { LATER_EVENTS } from '../../projections/support/message-events.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { contextAt } from '../../support/specification.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

/** Each run appends messages of an organization of its own. A failure prints its seed. */
const RUNS = 3;
const STATUS_OF = {
  AttemptStarted: 'sending',
  RecipientDelivered: 'delivered',
  RecipientDeferred: 'deferred',
  AttemptOutcomeUnknown: 'deferred',
  RecipientBounced: 'bounced',
  RecipientFailed: 'failed',
  RecipientExpired: 'expired',
  RecipientSuppressed: 'suppressed',
  RecipientCancelled: 'cancelled',
} as const;
const MARK_OF = {
  RecipientDeferred: 'deferred',
  AttemptOutcomeUnknown: 'deferred',
  RecipientOpened: 'opened',
  RecipientClicked: 'clicked',
  RecipientComplained: 'complained',
  RecipientUnsubscribed: 'unsubscribed',
} as const;
const OPEN: readonly string[] = ['accepted', 'sending', 'deferred'];
/** A recipient has one final outcome, except that a bounce may follow a delivery. */
const STATUSES = [
  [],
  ['AttemptStarted'],
  ['AttemptStarted', 'RecipientDeferred'],
  ['AttemptOutcomeUnknown', 'RecipientDelivered'],
  ['RecipientDeferred', 'RecipientDeferred', 'RecipientBounced'],
  ['RecipientDelivered'],
  ['RecipientDelivered', 'RecipientBounced'],
  ['RecipientExpired'],
  ['RecipientFailed'],
  ['RecipientSuppressed'],
  ['RecipientCancelled'],
] as const;
const MARKS = ['RecipientOpened', 'RecipientClicked', 'RecipientComplained', 'RecipientUnsubscribed'] as const;
const PLACES = ['one.example', 'two.example', 'gmail.com'] as const;

const recipients = fc.record({
  place: fc.constantFrom(...PLACES),
  statuses: fc.constantFrom(...STATUSES),
  marks: fc.subarray([...MARKS]),
  machine: fc.boolean(),
});
const mail = fc.array(
  fc.record({
    recipients: fc.array(recipients, { minLength: 1, maxLength: 4 }),
    trial: fc.constantFrom(undefined, undefined, undefined, true as const),
  }),
  { minLength: 1, maxLength: 10 },
);
type SentMail = (typeof mail extends fc.Arbitrary<readonly (infer One)[]> ? One : never) & { readonly id: string };
type DrawnRecipient = SentMail['recipients'][number];

/** The outcomes of a recipient, from its events. */
const outcomesOf = ({ statuses, marks, machine }: DrawnRecipient): ReadonlySet<string> => {
  const last = statuses.at(-1);
  const status = last === undefined ? 'accepted' : STATUS_OF[last];
  const noted = [...statuses, ...marks].flatMap((type) => {
    if (!(type in MARK_OF)) return [];
    const mark = MARK_OF[type as keyof typeof MARK_OF];
    return machine && (mark === 'opened' || mark === 'clicked') ? [`machine_${mark}`] : [mark];
  });
  const ended = OPEN.includes(status) ? 'waiting' : status;
  return new Set(['accepted', ended, ...noted]);
};

const eventsOf = ({ id: messageId, recipients: given, trial }: SentMail, domainId: string): readonly MessageEvent[] => [
  messageAccepted({
    messageId,
    contentId: randomUUID(),
    domainId,
    recipients: given.map(({ place }, at) => ({ ...recipient(`rcp_${at}`), domain: place })),
    ...(trial && { trial }),
  }),
  ...given.flatMap(({ statuses, marks, machine }, at) =>
    [...statuses, ...marks].map((type) => {
      const { data } = LATER_EVENTS[type];
      const who = 'recipientIds' in data ? { recipientIds: [`rcp_${at}`] } : { recipientId: `rcp_${at}` };
      const isEngaged = type === 'RecipientOpened' || type === 'RecipientClicked';
      const by = machine && isEngaged ? { machine: 'scanner' } : {};
      return { type, data: { ...data, ...who, ...by, messageId } } as MessageEvent;
    }),
  ),
];

let service: DatabaseService;
beforeAll(async () => {
  service = await startDatabaseService();
});
afterAll(() => service.close());

interface Answer {
  readonly totals: Readonly<Record<string, number>>;
  readonly data: readonly { readonly id: string }[];
}

/** Appends the messages to the log of a new organization. */
const accept = async (messages: readonly SentMail[]): Promise<(path: string) => Promise<Answer>> => {
  const { store, system } = service.deps.context;
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, `${organizationId.slice(4)}.example.test`);
  for (const sent of messages)
    await store.append({
      stream: `message-${sent.id}`,
      expected: 'no-stream',
      events: eventsOf(sent, domainId).map((event) => ({ ...event, id: system.uuid() })),
      context: contextAt(system.now().toISOString(), organizationId),
    });
  const key = (await service.makeKey(organizationId, domainId)).value;
  return async (url) => {
    const answer = await service.request({ url, key });
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json();
  };
};

const figureOf = (totals: Readonly<Record<string, number>>, outcome: MessageOutcome): number => {
  if (outcome !== 'waiting') return totals[outcome] ?? -1;
  const ended = ['delivered', 'bounced', 'failed', 'expired', 'suppressed', 'cancelled'];
  return (totals.accepted ?? 0) - ended.reduce((sum, name) => sum + (totals[name] ?? 0), 0);
};

let runs = 0;

test('the messages listed for an outcome have as many recipients with it as statistics count', async () => {
  await fc.assert(
    fc.asyncProperty(mail, async (generated) => {
      runs += 1;
      const messages = generated.map((one, at) => ({ ...one, id: `msg_${runs}_${at}` }));
      const get = await accept(messages);
      for (const place of [null, ...PLACES]) {
        const filter = place === null ? '' : `&recipient_domain=${place}`;
        const { totals } = await get(`/v1/stats?granularity=month${filter}`);
        for (const outcome of MESSAGE_OUTCOMES) {
          const matching = (one: DrawnRecipient): boolean =>
            (place === null || one.place === place) && outcomesOf(one).has(outcome);
          const counted = messages.filter(({ trial }) => trial === undefined);
          const wanted = counted.filter((one) => one.recipients.some(matching)).map(({ id }) => id);
          const { data } = await get(`/v1/messages?limit=100&outcome=${outcome}${filter}`);
          const listed = data.map(({ id }) => id);
          expect(listed.toSorted(), `${outcome} ${place}`).toEqual(wanted.toSorted());
          const many = counted.flatMap((one) => one.recipients.filter(matching)).length;
          expect(figureOf(totals, outcome), `${outcome} ${place}`).toBe(many);
        }
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}, 120_000);

test('an outcome that does not exist is refused, and so is one at an earlier time', async () => {
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'refused.example.test');
  const { value: key } = await service.makeKey(organizationId, domainId);
  const refused = [
    'outcome=',
    'outcome=opens',
    'outcome=bounced,opened',
    'outcome=%00',
    "outcome=bounced'",
    'outcome=bounced&outcome=failed',
  ];
  for (const query of [...refused, 'outcome=bounced&at=2026-11-20T00:00:00Z']) {
    const answer = await service.request({ url: `/v1/messages?${query}`, key });
    expect(answer.statusCode, query).toBe(400);
    expect(answer.json().error.details, query).toHaveProperty('outcome');
  }
});
