import { afterAll, beforeAll, expect } from 'vitest';
import { load, readWholeStream } from '../../../src/commands/execute.ts';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { addressDigest, suppressRecipient } from '../../../src/commands/suppression.ts';
import { messageStream, suppressionStream } from '../../../src/domain/kernel/streams.ts';
import { unsubscribeToken } from '../../../src/domain/message/tokens.ts';
import { isSuppressing, suppression, suppressionId } from '../../../src/domain/suppression/suppression.ts';
import { type DatabaseService, startDatabaseService } from './database-service.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

const MESSAGE = { from: 'a@example.test', subject: 'Hello', text: 'Hello', stream: 'bulk' };

/** The API on a database for a whole test file, with an organization that sends about topics and a second one. */
export const createTopicTenant = () => {
  let service: DatabaseService;
  let key: string;
  let otherKey: string;
  let secret: Uint8Array;
  let secondDomainId: string;

  beforeAll(async () => {
    service = await startDatabaseService();
    const organizationId = await service.makeOrganization();
    key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
    secondDomainId = await service.makeDomain(organizationId, 'second.test');
    secret = await organizationSecret(service.deps.context.secrets, organizationId);
    const other = await service.makeOrganization();
    otherKey = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
  });
  afterAll(() => service.close());

  const ask = async (method: Method, url: string, payload?: object, by = key) => {
    const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
    return { status: answer.statusCode, body: answer.body === '' ? null : answer.json(), headers: answer.headers };
  };

  const make = async (more: object = {}, by = key): Promise<string> => {
    const { status, body } = await ask('POST', '/v1/topics', { name: 'Offers', default: 'in', ...more }, by);
    expect(status).toBe(201);
    await ask('GET', '/v1/topics', undefined, by); // pages do not wait for the read model
    return body.id;
  };

  const send = async (to: string, topic?: string) => {
    const more = topic === undefined ? { unsubscribe: 'managed' } : { topic };
    const { status, body } = await ask('POST', '/v1/messages/send', { ...MESSAGE, to, ...more });
    expect(status).toBe(202);
    return { id: body.id as string, token: unsubscribeToken(secret, body.id, body.recipients[0].id) };
  };

  /** The outcome if a worker processed the message now. */
  const outcomeOf = async (messageId: string): Promise<string | null> => {
    const claim = await claimAttempt(service.deps.context, { messageId, leaseMs: 60_000, random: 0 });
    const [event] = claim.events;
    return event?.type === 'RecipientSuppressed' ? event.data.reason : (event?.type ?? null);
  };

  /** Adds the recipients' choices to the suppression list, as a worker does a moment later. */
  const bringToList = async (messageId: string): Promise<void> => {
    const { context } = service.deps;
    const events = await readWholeStream(context.store, messageStream(messageId));
    for (const event of events.filter(isSuppressing)) await suppressRecipient(context, event);
  };

  const page = async (path: string, form?: Record<string, string | string[]>) => {
    const fields = Object.entries(form ?? {}).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    );
    const answer = await service.request({
      url: path,
      method: form === undefined ? 'GET' : 'POST',
      ...(form === undefined ? {} : { payload: new URLSearchParams(fields).toString() }),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    return { status: answer.statusCode, html: answer.body };
  };

  return {
    message: MESSAGE,
    ask,
    make,
    send,
    outcomeOf,
    bringToList,
    page,
    request: (options: Parameters<DatabaseService['request']>[0]) => service.request({ ...options, key }),
    other: () => otherKey,
    secondDomainId: () => secondDomainId,
    /** Revision of the log's stream for an address. */
    revisionOf: async (address: string) => {
      const stream = suppressionStream(suppressionId('live', addressDigest(secret, address)));
      return (await load(service.deps.context.store, suppression, stream)).revision;
    },
  };
};
