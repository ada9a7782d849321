import { afterAll, beforeAll } from 'vitest';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import type { Vendor } from '../../../src/http/compat/vendors.ts';
import { type Service, startService } from '../support/service.ts';

/** Hand-written requests to the routes for clients of other services. */

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what each test looks at
  readonly body: any;
  readonly headers: Readonly<Record<string, unknown>>;
}

const headersOf = (vendor: Vendor, by: string): Record<string, string> => {
  if (vendor === 'postmark') return { 'x-postmark-server-token': by };
  if (vendor === 'mailgun') return { authorization: `Basic ${Buffer.from(`api:${by}`).toString('base64')}` };
  return { authorization: `Bearer ${by}` };
};

/** The error text that a vendor's client shows its users. */
export const said = (vendor: Vendor, { body }: Pick<Answer, 'body'>): string => {
  if (vendor === 'resend' || vendor === 'mailgun') return String(body.message);
  if (vendor === 'postmark') return String(body.Message);
  return body.errors.map(({ message }: { readonly message: string }) => message).join('; ');
};

export const RESEND = { from: 'a@a.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };
export const POSTMARK = { From: 'a@a.test', To: 'b@example.org', Subject: 'Hello', TextBody: 'Hello' };
export const SENDGRID = {
  from: { email: 'a@a.test' },
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello' }],
  personalizations: [{ to: [{ email: 'b@example.org' }] }],
};

/** A form has the same fields. */
export const MAILGUN = { from: 'a@a.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };

export const SENDS = [
  ['resend', '/emails', RESEND],
  ['postmark', '/email', POSTMARK],
  ['sendgrid', '/v3/mail/send', SENDGRID],
  ['mailgun', '/v3/a.test/messages', MAILGUN],
] as const;

export const BATCHES = [
  ['resend', '/emails/batch', [RESEND]],
  ['postmark', '/email/batch', [POSTMARK]],
  ['postmark', '/email/batchWithTemplates', { Messages: [POSTMARK] }],
  ['sendgrid', '/v3/mail/send', SENDGRID],
] as const;

interface CompatRequest {
  readonly by?: string;
  /** A string or form is sent unchanged. */
  readonly payload?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const bodyOf = ({ payload }: CompatRequest) => {
  if (payload === undefined) return {};
  return { payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload) };
};

/** A form as clients write it. */
export const formOf = async (
  form: FormData | URLSearchParams,
): Promise<Required<Pick<CompatRequest, 'payload' | 'headers'>>> => {
  const written = new Response(form);
  const headers = { 'content-type': written.headers.get('content-type') ?? '' };
  return { payload: Buffer.from(await written.arrayBuffer()), headers };
};

/** An organization with a domain, `a.test`, and an admin key. @param start a service with read models, for lists. */
export const useTenant = (start: () => Promise<Service> = () => startService({}, () => undefined)) => {
  const now = { service: {} as Service, organizationId: '', domainId: '', key: '' };
  beforeAll(async () => {
    now.service = await start();
    now.organizationId = await now.service.makeOrganization();
    now.domainId = await now.service.makeDomain(now.organizationId, 'a.test');
    now.key = (await now.service.makeKey(now.organizationId, now.domainId)).value;
  });
  afterAll(() => now.service.close());

  return {
    now,
    ask: async (
      vendor: Vendor,
      method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      path: string,
      asked: CompatRequest = {},
    ): Promise<Answer> => {
      const { by = now.key, payload, headers = {} } = asked;
      const type = payload === undefined ? {} : { 'content-type': 'application/json' };
      const answer = await now.service.server.inject({
        method,
        url: `/compat/${vendor}${path}`,
        headers: { ...headersOf(vendor, by), ...type, ...headers },
        ...bodyOf(asked),
      });
      const isJson = String(answer.headers['content-type']).startsWith('application/json');
      return { status: answer.statusCode, body: isJson ? answer.json() : answer.body, headers: answer.headers };
    },
    /** Number of messages in the log. */
    accepted: async (): Promise<number> => {
      const { events } = await now.service.deps.context.store.readAll({
        from: LOG_START,
        limit: 1_000,
        filter: { categories: ['message'] },
      });
      return events.filter(({ type }) => type === 'MessageAccepted').length;
    },
  };
};
