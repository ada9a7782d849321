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
  readonly next_cursor: string | null;
}

type AtTimes = (sent: SentMail, events: readonly MessageEvent[]) => readonly TimedEvent[];

const allNow: AtTimes = (_, events) =>
  events.map((event) => ({ event, at: service.deps.context.system.now().toISOString() }));

/** Appends the messages to the log of a new organization. */
const accept = async (messages: readonly SentMail[], timesOf = allNow): Promise<(path: string) => Promise<Answer>> => {
  const { store, system } = service.deps.context;
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, `${organizationId.slice(4)}.example.test`);
  for (const sent of messages) {
    let expected: Parameters<typeof store.append>[0]['expected'] = 'no-stream';
    for (const { event, at } of timesOf(sent, eventsOf(sent, domainId))) {
      const stream = `message-${sent.id}` as const;
      const events = [{ ...event, id: system.uuid() }];
      const appended = await store.append({ stream, expected, events, context: contextAt(at, organizationId) });
      expected = appended.revision;
    }
  }
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

/** Id of a message of this run: a cursor contains it, and only ids are cursors. */
const idOfMessage = (at: number): string =>
  `msg_${String(runs * 1_000 + at)
    .replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)))
    .padStart(26, 'a')}`;

test('the messages listed for an outcome have as many recipients with it as statistics count', async () => {
  await fc.assert(
    fc.asyncProperty(mail, async (generated) => {
      runs += 1;
      const messages = generated.map((one, at) => ({ ...one, id: idOfMessage(at) }));
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
});

const HOUR_MS = 3_600_000;
const BEGIN_MS = Date.UTC(2026, 9, 20);
const hour = (number: number): string => new Date(BEGIN_MS + number * HOUR_MS).toISOString();
const TIMED = MESSAGE_OUTCOMES.filter((outcome) => outcome !== 'accepted' && outcome !== 'waiting');
const HOURS_MAX = 30;

interface TimedEvent {
  readonly event: MessageEvent;
  readonly at: string;
}

/** Message ids by the times at which the outcome is counted, of those in a period, the latest first. */
const latestIn = (times: ReadonlyMap<string, readonly string[]>, since: string, until: string): readonly string[] => {
  const latest = [...times].flatMap(([id, all]) => {
    const last = all
      .filter((at) => at >= since && at < until)
      .toSorted()
      .at(-1);
    return last === undefined ? [] : [{ id, last }];
  });
  const key = ({ id, last }: (typeof latest)[number]) => `${last} ${id}`;
  return latest.toSorted((one, other) => (key(one) < key(other) ? 1 : -1)).map(({ id }) => id);
};

/** Times at which statistics by event count an outcome: the first of a mark, the last of a final outcome that is left. */
const countedAt = (outcome: string, one: DrawnRecipient, times: readonly string[]): readonly string[] => {
  const types: readonly string[] = [...one.statuses, ...one.marks];
  const outcomeIn = (type = ''): string | undefined => {
    const mark = (MARK_OF as Readonly<Record<string, string>>)[type];
    if (mark === undefined) return (STATUS_OF as Readonly<Record<string, string>>)[type];
    return one.machine && (mark === 'opened' || mark === 'clicked') ? `machine_${mark}` : mark;
  };
  const matching = times.filter((_, at) => outcomeIn(types[at]) === outcome);
  if (!outcomesOf(one).has(outcome) || matching.length === 0) return [];
  return [matching[0] ?? ''];
};

/** Times at which each outcome of a message is counted; its events are those of its recipients, one after the other. */
const timesOfMessage = (sent: SentMail, later: readonly TimedEvent[]): Readonly<Record<string, readonly string[]>> => {
  let behind = 0;
  const each = sent.recipients.map((one) => {
    const own = later.slice(behind, behind + one.statuses.length + one.marks.length).map(({ at }) => at);
    behind += own.length;
    return { one, own };
  });
  const counted = sent.trial ? [] : each;
  return Object.fromEntries(
    TIMED.map((outcome) => [outcome, counted.flatMap(({ one, own }) => countedAt(outcome, one, own))]),
  );
};

/** Ids of all messages of a list, two a page. */
const idsOf = async (get: (path: string) => Promise<Answer>, path: string): Promise<readonly string[]> => {
  const page = await get(`${path}&limit=2`);
  const ids = page.data.map(({ id }) => id);
  return page.next_cursor === null
    ? ids
    : [...ids, ...(await idsOf(get, `${path.replace(/&after=.*/, '')}&after=${page.next_cursor}`))];
};

test('the messages listed by the time of an outcome are those that statistics by event count then', async () => {
  const drawn = fc.tuple(
    mail,
    fc.infiniteStream(fc.nat(HOURS_MAX)),
    fc.nat(HOURS_MAX),
    fc.integer({ min: 1, max: 20 }),
  );
  await fc.assert(
    fc.asyncProperty(drawn, async ([generated, hours, first, length]) => {
      runs += 1;
      const messages = generated.map((one, at) => ({ ...one, id: idOfMessage(at) }));
      const times = new Map<string, ReturnType<typeof timesOfMessage>>();
      const get = await accept(messages, (sent, events) => {
        const timed = events.map((event): TimedEvent => ({ event, at: hour(hours.next().value) }));
        times.set(sent.id, timesOfMessage(sent, timed.slice(1)));
        return timed;
      });
      const [since, until] = [hour(first), hour(first + length)];
      const { totals } = await get(`/v1/stats?attribution=event&granularity=month&from=${since}&to=${until}`);
      for (const outcome of TIMED) {
        const own = new Map([...times].map(([id, all]) => [id, all[outcome] ?? []]));
        const listed = await idsOf(
          get,
          `/v1/messages?outcome=${outcome}&outcome_since=${since}&outcome_until=${until}`,
        );
        expect(listed, outcome).toEqual(latestIn(own, since, until));
        const counted = [...own.values()].flat().filter((at) => at >= since && at < until);
        expect(totals[outcome], outcome).toBe(counted.length);
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

test('times of an outcome are refused without an outcome that has one', async () => {
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'times.example.test');
  const { value: key } = await service.makeKey(organizationId, domainId);
  const time = '2026-11-20T00:00:00Z';
  for (const [query, named] of [
    [`outcome_since=${time}`, 'outcome_since'],
    [`outcome_until=${time}`, 'outcome_until'],
    [`outcome=waiting&outcome_since=${time}`, 'outcome_since'],
    [`outcome=accepted&outcome_until=${time}`, 'outcome_until'],
    [`outcome=bounced&outcome_since=${time}&at=${time}`, 'outcome'],
    ['outcome=bounced&outcome_since=', 'outcome_since'],
    ['outcome=bounced&outcome_since=yesterday', 'outcome_since'],
    ['outcome=bounced&outcome_since=%00', 'outcome_since'],
    [`outcome=bounced&outcome_since=${time}&outcome_since=${time}`, 'outcome_since'],
  ] as const) {
    const answer = await service.request({ url: `/v1/messages?${query}`, key });
    expect(answer.statusCode, query).toBe(400);
    expect(answer.json().error.details, query).toHaveProperty(named);
  }
});

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
