import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Submitting, startSubmitting } from './support/submitting.ts';

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting();
});
afterAll(() => submitting.close());

const send = (header: string) =>
  submitting.sendRaw(`From: ann@example.test\r\nTo: bob@example.org\r\nSubject: x\r\n${header}\r\n\r\nHi`);

describe('a submitted message', () => {
  test.each([
    'Resent-From: ceo@bank.test',
    'Resent-Sender: "ann@example.test" <ceo@bank.test>',
    'Resent-From: ann@example.test\r\nResent-From: ceo@bank.test',
    'List-Unsubscribe: <javascript:alert(1)>',
    'List-Unsubscribe: <https://example.test/u>,\r\n <javascript:alert(1)>',
    'List-Unsubscribe: <http://example.test/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click',
  ])('is refused with %j', async (header) => {
    expect(await send(header)).toMatch(/^55\d /);
  });

  test.each([
    'Resent-From: Ann <ann@example.test>\r\nResent-Sender: ann@example.test',
    'List-Unsubscribe: <http://example.test/u>, <mailto:u@example.test>',
    'List-Unsubscribe: <https://example.test/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click',
  ])('is accepted with %j', async (header) => {
    expect(await submitting.shown(await send(header))).toMatchObject({ text: 'Hi' });
  });
});
