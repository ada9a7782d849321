import { expect, test } from 'vitest';
import { openReceivingMail } from './receiving-mail.ts';

let mails = 0;
/** A mail that was not brought before. */
const mail = (): string => {
  mails += 1;
  return `From: ann@example.net\r\nSubject: ${mails}\r\n\r\nHello\r\n`;
};
const MINUTE_MS = 61_000;
const OK = expect.stringMatching(/^250 /);
const FROM_SENDER = expect.stringMatching(/^452 4\.7\.1 too many messages from this sender: try again in a minute/);
const FOR_ORGANIZATION = expect.stringMatching(/^452 4\.7\.1 too many messages for this organization/);

const openLimited = async (limits: { readonly perOrganization: number; readonly perSender: number }) => {
  const receiving = await openReceivingMail({ limits });
  const organizationId = await receiving.makeOrganization();
  await receiving.makeDomain(organizationId, 'example.test');
  await receiving.makeDomain(await receiving.makeOrganization(), 'other.test');
  const bring = (from: string, to: string | readonly string[] = 'a@example.test') => receiving.bring(to, mail(), from);
  return { ...receiving, bring };
};

test('a sender over its limit tries again, and stops neither other senders nor its mail to others', async () => {
  const { bring, counts, system, events } = await openLimited({ perOrganization: 100, perSender: 2 });
  const flood = 'ann@example.net';
  expect([await bring(flood), await bring(flood), await bring('Ann@example.net')]).toEqual([OK, OK, FROM_SENDER]);
  expect(await bring('bob@example.net')).toEqual(OK);
  expect(await bring('')).toEqual(OK);
  expect(await bring(flood, 'a@other.test')).toEqual(OK);
  expect(counts).toEqual({ received: 5, limited: 1 });
  expect(await events()).toHaveLength(5);
  system.shift(MINUTE_MS);
  expect(await bring(flood)).toEqual(OK);
});

test('an organization over its limit stops no other one; each recipient counts', async () => {
  const { bring } = await openLimited({ perOrganization: 3, perSender: 100 });
  expect(await bring('a@example.net', ['a@example.test', 'b@example.test'])).toEqual(OK);
  expect(await bring('b@example.net', ['a@example.test', 'b@example.test'])).toEqual(FOR_ORGANIZATION);
  expect(await bring('c@example.net')).toEqual(OK);
  expect(await bring('d@example.net')).toEqual(FOR_ORGANIZATION);
  expect(await bring('d@example.net', 'a@other.test')).toEqual(OK);
});

test('a mail with more recipients than the limit is received once nothing else was', async () => {
  const { bring } = await openLimited({ perOrganization: 2, perSender: 100 });
  const many = ['a', 'b', 'c'].map((name) => `${name}@example.test`);
  expect(await bring('a@example.net', many)).toEqual(OK);
  expect(await bring('b@example.net')).toEqual(FOR_ORGANIZATION);
});

test('a mail that cannot be recorded is counted', async () => {
  const receiving = await openReceivingMail({
    wrap: (store) => ({ ...store, append: () => Promise.reject(new Error('the log is away')) }),
  });
  await receiving.makeDomain(await receiving.makeOrganization(), 'example.test');
  expect(await receiving.bring('a@example.test', mail())).toMatch(/^451 /);
  expect(receiving.counts).toEqual({ failed: 1 });
});
