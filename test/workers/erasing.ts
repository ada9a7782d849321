import { Pool } from 'pg';
import { afterEach, beforeEach, expect } from 'vitest';
import { createPostgresInbox } from '../../src/adapters/inbox/postgres.ts';
import { createPostgresRetention } from '../../src/adapters/retention/postgres.ts';
import { readWholeStream } from '../../src/commands/execute.ts';
import { claimAttempt, recordAttempt } from '../../src/commands/message/attempt.ts';
import { recordEngagement } from '../../src/commands/message/recipient.ts';
import { organizationSecret } from '../../src/commands/organization.ts';
import { suppressRecipient } from '../../src/commands/suppression.ts';
import { type EventStore, LOG_START } from '../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import { boundReply } from '../../src/domain/message/draft.ts';
import type { Retention } from '../../src/domain/ports/contents.ts';
import { isSuppressing } from '../../src/domain/suppression/suppression.ts';
import { SALT_BYTES } from '../../src/lib/transparency/transparency.ts';
import { createInboundRoutes, type InboundRoutes } from '../../src/workers/domains/inbound-routes.ts';
import { type Auditors, createAuditors } from '../../src/workers/in-memory-projections.ts';
import { type ErasePeople, erasePeople } from '../../src/workers/retention/erase-people.ts';
import { type DatabaseService, startDatabaseService } from '../http/support/database-service.ts';
import { ADDRESS, dumpOf } from '../support/traces.ts';

const REPLIES = { delivered: { code: 250, enhanced: '2.0.0' }, bounced: { code: 550, enhanced: '5.1.1' } } as const;

/** The auditors as projected by the workers. */
export const auditorsIn = async (store: EventStore): Promise<Auditors> => {
  const { auditors, apply, category } = createAuditors();
  const { events } = await store.readAll({ from: LOG_START, filter: { categories: [category] }, limit: 1_000 });
  events.map(apply);
  return auditors;
};

const routesIn = async (store: EventStore): Promise<InboundRoutes> => {
  const routes = createInboundRoutes();
  const { events } = await store.readAll({ from: LOG_START, filter: { categories: ['inboundRoute'] }, limit: 1_000 });
  events.map(routes.apply);
  return routes;
};

/** A database service for each test, with functions to write, find and erase personal data. */
export const createErasing = () => {
  let service: DatabaseService;
  let pool: Pool;
  let organizationId: string;
  let key: string;
  let otherKey: string;
  let secret: Uint8Array;

  beforeEach(async () => {
    service = await startDatabaseService();
    pool = new Pool({ connectionString: service.url, max: 2 });
    organizationId = await service.makeOrganization();
    key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
    const other = await service.makeOrganization();
    otherKey = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
    secret = await organizationSecret(service.deps.context.secrets, organizationId);
  });
  afterEach(async () => {
    await pool.end();
    await service.close();
  });

  const ask = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object, by = key) => {
    const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  };

  const send = async (more: object = {}, by = key): Promise<{ id: string; recipients: { id: string }[] }> => {
    const from = by === key ? 'shop@example.test' : 'shop@other.test';
    const message = { from, to: ADDRESS, subject: `For ${ADDRESS}`, text: `Dear ${ADDRESS}`, ...more };
    const { status, body } = await ask('POST', '/v1/messages/send', message, by);
    expect(status).toBe(202);
    return body;
  };

  const erase = async (more: object = {}): Promise<string> => {
    const { status, body } = await ask('POST', '/v1/erasures', { address: ADDRESS, ...more });
    expect([status, body.state]).toEqual([202, 'running']);
    return body.id;
  };

  /** Records an outcome for all recipients of a message, with replies that quote the address. */
  const attempt = async (messageId: string, outcome: 'delivered' | 'bounced') => {
    const { context } = service.deps;
    const claim = await claimAttempt(context, { messageId, leaseMs: 60_000, random: 0 });
    if (!claim.claimed) throw new Error('not claimed');
    const salt = context.system.randomBytes(SALT_BYTES);
    const { body, root: replyRoot } = boundReply(messageId, `<${ADDRESS}>: said`, salt);
    const replies = claim.recipientIds.map(() => ({ id: context.system.uuid(), organizationId, body }));
    const outcomes = claim.recipientIds.map((recipientId, index) => {
      const smtp = {
        ...REPLIES[outcome],
        mx: 'mx.example.net',
        tls: null,
        replyId: replies[index]?.id ?? null,
        replyRoot,
      };
      return outcome === 'delivered'
        ? ({ recipientId, outcome, smtp } as const)
        : ({ recipientId, outcome, smtp, reason: 'no such mailbox', category: 'no_mailbox' } as const);
    });
    await recordAttempt(context, {
      message: claim.message,
      attempt: claim.attempt,
      outcomes,
      replies,
      random: 0,
    });
  };

  const suppressAsWorker = async (messageId: string) => {
    for (const event of await readWholeStream(service.deps.context.store, messageStream(messageId))) {
      if (isSuppressing(event)) await suppressRecipient(service.deps.context, event);
    }
  };

  const click = (messageId: string, recipientId: string, link: number) =>
    recordEngagement(service.deps.context, {
      messageId,
      recipientId,
      engagements: [
        {
          ...{ at: new Date().toISOString(), count: 1, machine: null, family: 'firefox', network: 'other' },
          click: { link, links: 3, url: `https://shop.example/?u=${encodeURIComponent(ADDRESS)}&l=${link}` },
        },
      ],
    });

  const capture = (internetMessageId: string, domain = 'example.test') =>
    createPostgresInbox({ pool }).store({
      environment: 'live',
      from: `shop@${domain}`,
      to: [ADDRESS],
      raw: Buffer.from(`Message-ID: ${internetMessageId}\r\nTo: ${ADDRESS}\r\n\r\nDear\r\n`),
      receivedAt: new Date(),
    });

  /** Runs rounds of a worker. */
  const rounds = async (times: number, retention: Retention = createPostgresRetention({ pool })): Promise<void> => {
    await ask('GET', '/v1/messages');
    await ask('GET', '/v1/webhooks');
    await ask('GET', '/v1/erasures');
    const { readModels, context } = service.deps;
    const ended = new AbortController();
    let left = times;
    const parts: ErasePeople = {
      retention,
      store: context.store,
      system: context.system,
      contents: context.contents,
      secrets: context.secrets,
      auditors: await auditorsIn(context.store),
      inboundRoutes: await routesIn(context.store),
      leadership: { isLeader: () => true },
      unfinished: readModels.erasures.unfinished,
      messagesTo: readModels.messages.to,
      inboundOf: readModels.inbound.ofPerson,
      endpointsOf: readModels.webhooks.endpointsOf,
      caughtUp: async () =>
        readModels.waitFor(['messages', 'inbound', 'webhooks', 'erasures'], await context.store.head()),
      roundEveryMs: 1,
    };
    await erasePeople(parts)(ended.signal, () => {
      left -= 1;
      if (left === 0) ended.abort();
    });
  };

  return {
    ask,
    /** Reads a response that is not JSON. */
    read: async (url: string): Promise<string> => (await service.request({ url, key })).body,
    send,
    erase,
    attempt,
    suppressAsWorker,
    click,
    capture,
    rounds,
    dump: () => dumpOf(pool),
    pool: () => pool,
    organizationId: () => organizationId,
    secret: () => secret,
    otherKey: () => otherKey,
    context: () => service.deps.context,
  };
};
