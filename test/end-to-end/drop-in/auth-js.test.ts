import { expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { firstMail, useProgram } from './program.ts';
import { usePublishedClients } from './published-clients.ts';

/** Providers of Auth.js that mail a link to sign in. Their addresses are fixed: the program sends each request here instead. */

const TEST_MS_MAX = 120_000;
const port = await freePort();

const { now, arrived } = useProgram([], { SUBMISSION_PORT: String(port) });
const printed = usePublishedClients(() => ({ BASE_URL: now.baseUrl, KEY: now.key, SMTP_PORT: String(port) }));

const PROVIDERS = ['nodemailer', 'resend', 'sendgrid', 'postmark', 'mailgun'] as const;

test.each(PROVIDERS)(
  'the provider %s sends a link to sign in',
  async (name) => {
    const program = `
import makeProvider from '@auth/core/providers/${name}';
const vendors = {
  'api.resend.com': 'resend', 'api.sendgrid.com': 'sendgrid', 'api.postmarkapp.com': 'postmark', 'api.mailgun.net': 'mailgun',
};
const { fetch } = globalThis;
globalThis.fetch = (url, init) => {
  const { host, pathname } = new URL(url);
  return fetch(process.env.BASE_URL + '/compat/' + vendors[host] + pathname, init);
};
const server = {
  host: '127.0.0.1', port: Number(process.env.SMTP_PORT), ignoreTLS: true, auth: { user: 'outbox', pass: process.env.KEY },
};
const made = makeProvider({ apiKey: process.env.KEY, from: 'shop@example.test', server });
const provider = { ...made, ...made.options };
const url = 'https://${name}.example.net/api/auth/callback/email?token=secret';
await provider.sendVerificationRequest({ identifier: 'ann@example.net', url, provider, theme: {} });
console.log(true);`;
    expect(await printed(program)).toBe(true);
    const mail = firstMail(await arrived(`Sign in to ${name}.example.net`));
    expect(mail.text).toContain(`https://${name}.example.net/api/auth/callback/email?token=secret`);
    expect(mail.html).toContain('Sign in');
  },
  TEST_MS_MAX,
);
