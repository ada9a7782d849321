import { expect, onTestFinished, test } from 'vitest';
import { createTextAlternatives } from '../../../src/lib/html/text-alternatives.ts';
import { outgoingMail } from '../../adapters/mail/outgoing-mail.ts';

test('the text of a message is derived once, however many copies of it are sent', async () => {
  const texts = createTextAlternatives();
  onTestFinished(texts.close);
  const html = `<p>Hello</p>${'<b>x</b>'.repeat(10_000)}`;
  const { text: _, ...body } = outgoingMail({}).body;
  const large = { ...body, html };
  const first = texts.of(large);
  expect(texts.of(large)).toBe(first);
  expect(await first).toMatch(/^Hello\n/);
  expect(texts.of({ ...body, html: '<p>Hi</p>' })).toBe('Hi');
});
