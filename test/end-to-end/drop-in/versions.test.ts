import { expect, test } from 'vitest';
import { filesOf, firstMail, useProgram } from './program.ts';
import { usePublishedClients } from './published-clients.ts';

const TEST_MS_MAX = 120_000;

const { now, arrived } = useProgram([]);
const printed = usePublishedClients(() => ({
  BASE_URL: now.baseUrl,
  KEY: now.key,
  RESEND_BASE_URL: `${now.baseUrl}/compat/resend/`,
}));

test.each([2, 3, 4, 5, 6])(
  'resend %i sends, with a Buffer and a base URL that ends in a slash',
  async (version) => {
    const subject = `resend ${version}`;
    const program = `
import { Resend } from 'resend-${version}';
const resend = new Resend(process.env.KEY);
const from = 'Shop <shop@example.test>';
const attachments = [{ filename: 'a.txt', content: Buffer.from('some text') }];
const mail = { from, to: 'ann@example.net', subject: '${subject}', html: '<p>Hello</p>', attachments };
const sent = await resend.emails.send(mail);
const read = await resend.emails.get(sent.data.id);
const batch = await resend.batch.send([mail]);
const domains = await resend.domains.list();
const contact = await resend.contacts.create({ email: 'bob@example.net', unsubscribed: true, audienceId: 'x' });
const results = [sent, read, batch, domains, contact];
console.log(JSON.stringify([read.data?.subject, domains.data?.data[0].name, ...results.map(({ error }) => error)]));`;
    expect(await printed(program)).toEqual([subject, 'example.test', null, null, null, null, null]);
    const copies = await arrived(subject, 2);
    expect(filesOf(firstMail(copies))).toEqual([['a.txt', 'text/plain', undefined, 'some text']]);
  },
  TEST_MS_MAX,
);

test(
  'nodemailer-sendgrid sends, with its own copy of @sendgrid/mail',
  async () => {
    const program = `
import { createRequire } from 'node:module';
import nodemailer from 'nodemailer';
const require = createRequire(import.meta.url);
const transport = nodemailer.createTransport(require('nodemailer-sendgrid')({ apiKey: process.env.KEY }));
const { client } = createRequire(require.resolve('nodemailer-sendgrid'))('@sendgrid/mail');
client.setDefaultRequest('baseUrl', process.env.BASE_URL + '/compat/sendgrid/');
const [{ statusCode }] = await transport.sendMail({
  from: 'Shop <shop@example.test>',
  to: 'Ann <ann@example.net>, bob@example.org',
  replyTo: 'help@example.test',
  subject: 'nodemailer',
  text: 'Hello',
  html: '<p>Hello</p>',
  headers: { 'X-Order': '1234' },
  attachments: [{ filename: 'a.txt', content: Buffer.from('some text') }],
});
console.log(statusCode);`;
    expect(await printed(program)).toBe(202);
    const mail = firstMail(await arrived('nodemailer'));
    expect([mail.headers.get('x-order'), mail.text?.trim()]).toEqual(['1234', 'Hello']);
    expect(filesOf(mail)).toEqual([['a.txt', 'text/plain', undefined, 'some text']]);
  },
  TEST_MS_MAX,
);

test(
  "Strapi's provider for SendGrid sends",
  async () => {
    const program = `
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const settings = { defaultFrom: 'shop@example.test', defaultReplyTo: 'help@example.test' };
const email = require('@strapi/provider-email-sendgrid').init({ apiKey: process.env.KEY }, settings);
const { client } = createRequire(require.resolve('@strapi/provider-email-sendgrid'))('@sendgrid/mail');
client.setDefaultRequest('baseUrl', process.env.BASE_URL + '/compat/sendgrid/');
await email.send({ to: 'ann@example.net', subject: 'strapi', text: 'Hello', html: '<p>Hello</p>' });
console.log(true);`;
    expect(await printed(program)).toBe(true);
    expect(firstMail(await arrived('strapi')).text?.trim()).toBe('Hello');
  },
  TEST_MS_MAX,
);
