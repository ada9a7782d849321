import { expect, onTestFinished, test } from 'vitest';
import { createTextAlternatives } from '../../../src/lib/html/text-alternatives.ts';
import { outgoingMail } from '../../adapters/mail/outgoing-mail.ts';

test('the text of a message is derived once, however many copies of it are sent', async () => {
  const texts = createTextAlternatives();
  onTestFinished(texts.close);
  const html = `<p>Hello</p>${'<b>x</b>'.repeat(10_000)}`;
  const { text: _, ...body } = outgoingMail({}).body;
  const large = { ...body, html };
  const first = texts.of(large, 'org_a');
  expect(texts.of(large, 'org_a')).toBe(first);
  expect(await first).toMatch(/^Hello\n/);
  expect(texts.of({ ...body, html: '<p>Hi</p>' }, 'org_a')).toBe('Hi');
});

test('the text of an organization does not wait for all of another, whatever their senders are', async () => {
  const texts = createTextAlternatives();
  onTestFinished(texts.close);
  const { text: _, ...body } = outgoingMail({}).body;
  const ended: string[] = [];
  const derive = async (owner: string): Promise<void> => {
    await texts.of({ ...body, html: '<b>x</b>'.repeat(10_000) }, owner);
    ended.push(owner);
  };
  await Promise.all([...Array(20).fill('org_a'), 'org_b'].map(derive));
  expect(ended.indexOf('org_b')).toBeLessThan(5);
});
