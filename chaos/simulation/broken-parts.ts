import {
  type Append,
  type AppendResult,
  type EventStore,
  WrongExpectedRevision,
} from '../../src/domain/kernel/event-store.ts';
import type { Breakage } from './breakage.ts';

const LONG_AGO = '2000-01-01T00:00:00.000Z';

const has = ({ events }: Append, type: string): boolean => events.some((event) => event.type === type);

const answerWithoutWriting = ({ expected, events }: Append): AppendResult => ({
  revision: (expected === 'no-stream' ? -1 : expected) + events.length,
  position: '0000000000000000',
});

const withAppend = (store: EventStore, append: (append: Append) => Promise<AppendResult>): EventStore => ({
  ...store,
  append,
});

/** Broken parts modelled on real bugs. A simulation that misses one of them proves little. */
export const BROKEN_PARTS: Readonly<Record<string, Breakage>> = {
  'a worker that ignores the lease': {
    store: (store) => ({
      ...store,
      readStream: async (...given) =>
        (await store.readStream(...given)).map((event) =>
          event.type === 'AttemptStarted' ? { ...event, data: { ...event.data, leaseUntil: LONG_AGO } } : event,
        ),
    }),
  },
  'a worker that records nothing of what it delivered': {
    store: (store) =>
      withAppend(store, async (append) =>
        has(append, 'RecipientDelivered') ? answerWithoutWriting(append) : store.append(append),
      ),
  },
  'a log that takes any revision for the expected one': {
    store: (store) =>
      withAppend(store, (append) =>
        store.append(append).catch((error: unknown) => {
          if (!(error instanceof WrongExpectedRevision)) throw error;
          return store.append({ ...append, expected: error.actual });
        }),
      ),
  },
  'an acceptance that is answered before it is written': {
    store: (store) =>
      withAppend(store, async (append) => {
        if (!has(append, 'MessageAccepted')) return store.append(append);
        store.append(append).catch(() => undefined);
        return answerWithoutWriting(append);
      }),
  },
  'a transport that knows no deadline': {
    transport: ({ send, ...rest }) => ({
      ...rest,
      send: (mail) => send(mail, { deadlineMs: Number.POSITIVE_INFINITY }),
    }),
  },
  'an idempotency key that is another one in each process': {
    secrets: (secrets, { name }) => ({ ...secrets, get: async (id) => `${name}${await secrets.get(id)}` }),
  },
  'a timetable that forgets': {
    timetable: { due: async () => ({ due: [], next: '' }) },
  },
  'a bounce after which nothing is put on the list': {
    store: (store) =>
      withAppend(store, async (append) =>
        has(append, 'SuppressionAdded') ? answerWithoutWriting(append) : store.append(append),
      ),
  },
  'a list that forgets what it has': {
    store: (store) => ({
      ...store,
      readStream: async (stream, options) =>
        stream.startsWith('suppression-') ? [] : store.readStream(stream, options),
    }),
  },
  'a domain whose operator cannot be found': {
    destinations: ({ providerOf }) => ({
      providerOf: (domain) => (domain === 'small.example' ? new Promise<never>(() => undefined) : providerOf(domain)),
    }),
  },
};
