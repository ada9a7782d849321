import { setTimeout as sleep } from 'node:timers/promises';
import { createClosers } from '../../src/composition/lifecycle.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { conductOf, domainOf } from '../harness/destinations.ts';
import { interleave } from '../harness/interleave.ts';
import { openService } from '../harness/open-service.ts';
import { SENDING_DOMAIN } from '../harness/provision.ts';
import { BATCH_MESSAGES, BATCH_PATH } from '../harness/sample-requests.ts';
import { until } from '../harness/until.ts';
import type { MailExchanges, MailExchangesFacts } from '../processes/mail-exchanges.ts';

const FLOOR = { of: 'ratio', atMost: 1.3 } as const;
const DESTINATIONS = 1_000;
/** Messages per destination. */
const MESSAGES_EACH = 20;
/** 200,000 messages in total, so that a round takes some minutes. */
const MESSAGES_EACH_OF_MANY = 200;
/** Time limit of a round with many messages. */
const PATIENCE_MS = 1_200_000;
const CONNECTIONS = 2;
const ACCEPTED = 202;
/** Status that asks the client to retry. */
const UNAVAILABLE = 503;
const AGAIN_MS = 200;
const SECOND_MS = 1_000;

const TEXT = 'It is on its way, and will be with you tomorrow.\n'.repeat(10);

const messageTo = (destination: number) => ({
  from: `orders@${SENDING_DOMAIN}`,
  to: `customer@${domainOf(destination)}`,
  subject: 'Your order',
  text: TEXT,
});

interface Turn {
  readonly destinations: readonly number[];
  readonly messagesEach: number;
}

/** Batches in which the destinations alternate. */
const batchesTo = ({ destinations, messagesEach }: Turn): readonly string[] => {
  const all = Array.from({ length: messagesEach }, () => destinations).flat();
  return Array.from({ length: Math.ceil(all.length / BATCH_MESSAGES) }, (_, at) => {
    const messages = all.slice(at * BATCH_MESSAGES, (at + 1) * BATCH_MESSAGES).map(messageTo);
    return JSON.stringify({ messages });
  });
};

const ALL = Array.from({ length: DESTINATIONS }, (_, number) => number);
const HEALTHY = ALL.filter((destination) => conductOf(destination) === 'healthy');

/** Retries when asked to, like a real client. The idempotency key prevents duplicates. */
const poster =
  (baseUrl: string, key: string) =>
  async (body: string, number: number): Promise<void> => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': `batch-${number}`,
    };
    for (;;) {
      const response = await fetch(new URL(BATCH_PATH, baseUrl), { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status === ACCEPTED) return;
      if (response.status !== UNAVAILABLE) throw new Error(`a batch was not accepted: ${text}`);
      await sleep(AGAIN_MS);
    }
  };

/** Uses a new service per round, so that bad destinations do not affect the next one. */
const openTurn = async (bench: Bench) => {
  const input: MailExchanges = { destinations: DESTINATIONS };
  const exchanges = await openChild<MailExchangesFacts>(bench.closers, { name: 'mail-exchanges', input });
  const { port, nameServer } = exchanges.facts;
  const variables = {
    ALLOW_PRIVATE_MX: 'true',
    DNS_SERVERS: nameServer,
    EHLO_NAME: `mail.${SENDING_DOMAIN}`,
    OUTBOX_TEST_MX_PORT: String(port),
  };
  const { baseUrl, key } = await openService(bench, { mailUrl: 'direct:', variables });
  return { post: poster(baseUrl, key), healthy: () => exchanges.ask<number>('healthy') };
};

/** @returns seconds until every message to a healthy destination has arrived. */
const take = async (bench: Bench, turn: Turn): Promise<number> => {
  const closers = createClosers(bench.logger);
  bench.closers.add('turn', closers.closeAll);
  try {
    const { post, healthy } = await openTurn({ ...bench, closers });
    const batches = batchesTo(turn).entries();
    const lane = async (): Promise<void> => {
      for (const [number, body] of batches) await post(body, number);
    };
    const beganMs = performance.now();
    const arrived = until(
      'all mail to healthy destinations',
      async () => (await healthy()) >= HEALTHY.length * turn.messagesEach,
      PATIENCE_MS,
    ).then(() => performance.now());
    const [endedMs] = await Promise.all([arrived, ...Array.from({ length: CONNECTIONS }, lane)]);
    return (endedMs - beganMs) / SECOND_MS;
  } finally {
    await closers.closeAll();
  }
};

/** Direct delivery to many servers, some slow, rejecting or dead, compared with a run without those. */
const isolationOf = (name: string, messagesEach: number): Measure => ({
  name,
  run: async (bench) => {
    const figures = await interleave(
      { rounds: bench.rounds, warmUps: 0 },
      {
        ours: () => take(bench, { destinations: ALL, messagesEach }),
        limit: () => take(bench, { destinations: HEALTHY, messagesEach }),
      },
    );
    const measure = `${messagesEach} messages to each of ${HEALTHY.length} healthy destinations among bad ones`;
    return [
      {
        measure,
        unit: 's',
        rounds: figures.ours,
        floor: FLOOR,
        limit: { what: 'the same without bad ones', rounds: figures.limit },
      },
    ];
  },
});

export const isolation = isolationOf('isolation', MESSAGES_EACH);
export const isolationLarge = isolationOf('isolation-large', MESSAGES_EACH_OF_MANY);
