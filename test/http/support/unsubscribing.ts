import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, expect } from 'vitest';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { addressDigest } from '../../../src/commands/suppression.ts';
import { messageStream, suppressionStream } from '../../../src/domain/kernel/streams.ts';
import { unsubscribeToken } from '../../../src/domain/message/tokens.ts';
import { suppressionId } from '../../../src/domain/suppression/suppression.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { type AnswerCheck, answerCheck } from '../../support/openapi/answer-check.ts';
import { readOpenApi } from '../../support/openapi/document.ts';
import { createMemoryStore, type Service, startService } from './service.ts';

export interface SentMail {
  readonly id: string;
  readonly recipients: readonly { readonly id: string }[];
}

export const FORM = 'application/x-www-form-urlencoded';

/** The API for a whole test file, with a sending organization and an unrelated one. */
export const createUnsubscribing = () => {
  let service: Service;
  let secret: Uint8Array;
  let otherSecret: Uint8Array;
  let key: string;
  let domainId: string;
  let isAway = false;
  let addresses = 0;
  let check: AnswerCheck;

  beforeAll(async () => {
    const contents = createInMemoryContents();
    const store = createMemoryStore(contents);
    const readStream: typeof store.readStream = (...asked) =>
      isAway ? Promise.reject(new StoreUnavailable('away')) : store.readStream(...asked);
    service = await startService({ context: { contents, store: { ...store, readStream } } });
    const organizationId = await service.makeOrganization();
    const { secrets } = service.deps.context;
    secret = await organizationSecret(secrets, organizationId);
    otherSecret = await organizationSecret(secrets, await service.makeOrganization());
    check = answerCheck(readOpenApi((await service.request({ url: '/openapi.json' })).json()));
    domainId = await service.makeDomain(organizationId, 'example.test');
    key = (await service.makeKey(organizationId, domainId)).value;
  });
  afterAll(() => service.close());

  /** Sends a message to two recipients. */
  const send = async (): Promise<SentMail> => {
    const to = ['b@example.org', 'c@example.org'];
    const payload = { from: 'a@example.test', to, subject: 'Hello', text: 'Hello', unsubscribe: 'managed' };
    return (await service.request({ method: 'POST', url: '/v1/messages/send', key, payload })).json();
  };

  /** A token for each recipient. @param whose secret signs it. */
  const tokensOf = ({ id, recipients }: SentMail, whose: 'own' | 'other' = 'own'): readonly string[] =>
    recipients.map((each) => unsubscribeToken(whose === 'own' ? secret : otherSecret, id, each.id));

  /**
   * Requests use a new address each, so that no rate limit is hit by accident. Responses must conform to the document.
   */
  const ask = async (token: string, options: InjectOptions = {}): Promise<LightMyRequestResponse> => {
    addresses += 1;
    const remoteAddress = `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
    const path = `/unsubscribe/${token}`;
    const answer = await service.request({ url: path, remoteAddress, ...options });
    const headers = { get: (name: string) => answer.headers[name.toLowerCase()]?.toString() ?? null };
    const { statusCode: status, payload: text } = answer;
    expect(check({ method: options.method ?? 'GET', path, status, headers, text })).toEqual([]);
    return answer;
  };

  return {
    send,
    tokensOf,
    ask,
    /** A token signed with our secret for any two ids. */
    tokenOf: (messageId: string, recipientId: string): string => unsubscribeToken(secret, messageId, recipientId),
    aToken: async (): Promise<string> => tokensOf(await send())[0] ?? '',
    post: (token: string, payload: string = 'List-Unsubscribe=One-Click', type = FORM) =>
      ask(token, { method: 'POST', payload, headers: { 'content-type': type } }),
    request: (options: InjectOptions) => service.request({ ...options, key }),
    /** Unsubscribed or not, by recipient. */
    unsubscribedOf: async ({ id }: SentMail): Promise<readonly boolean[]> => {
      const { recipients } = (await service.request({ url: `/v1/messages/${id}`, key })).json();
      return recipients.map(({ unsubscribed }: { unsubscribed: boolean }) => unsubscribed);
    },
    historyOf: async (messageId: string) => service.deps.context.store.readStream(messageStream(messageId)),
    /** The log's events for an address. */
    listOf: async (address: string) =>
      service.deps.context.store.readStream(suppressionStream(suppressionId('live', addressDigest(secret, address)))),
    putOn: async (address: string): Promise<void> => {
      await service.request({ method: 'POST', url: '/v1/suppressions', key, payload: { address } });
    },
    /** Sets the branding of the sender's domain. */
    brand: async (branding: object | null): Promise<void> => {
      const url = `/v1/domains/${domainId}`;
      expect((await service.request({ method: 'PATCH', url, key, payload: { branding } })).statusCode).toBe(200);
    },
    /** Removes an address from the list, as a member. */
    takeOff: async (address: string): Promise<void> => {
      const added = await service.request({ method: 'POST', url: '/v1/suppressions', key, payload: { address } });
      const { id } = added.json();
      expect((await service.request({ method: 'DELETE', url: `/v1/suppressions/${id}`, key })).statusCode).toBe(204);
      await service.deps.context.system.sleep(2); // a removal also covers events of its own millisecond
    },
    /** Runs `work` while the log is unavailable. */
    whileAway: async <T>(work: () => Promise<T>): Promise<T> => {
      isAway = true;
      try {
        return await work();
      } finally {
        isAway = false;
      }
    },
  };
};

const POLICY =
  /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/;

export const expectPage = (answer: LightMyRequestResponse, status: number, title: string): void => {
  expect(answer.statusCode).toBe(status);
  expect(answer.body).toContain(`<h1>${title}</h1>`);
  expect(answer.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex, nofollow',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringMatching(POLICY),
    'x-request-id': expect.stringMatching(/^req_/),
  });
  expect(answer.body).not.toMatch(/<(?:script|link|img|iframe)\b|@import|src=|url\(| on\w+=/);
};
