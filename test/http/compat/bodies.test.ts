import { describe, expect, test } from 'vitest';
import { BATCHES, SENDGRID, SENDS, said, useTenant } from './tenant.ts';

const { ask, accepted } = useTenant();

describe('bodies of the wrong type or size', () => {
  test.each(SENDS)('%s refuses what is not a message', async (vendor, path) => {
    const before = await accepted();
    for (const payload of [[], 'text', 1, null, [[]], true]) {
      const answer = await ask(vendor, 'POST', path, { payload: JSON.stringify(payload) });
      expect([vendor, JSON.stringify(payload), answer.status]).toEqual([
        vendor,
        JSON.stringify(payload),
        vendor === 'postmark' ? 422 : 400,
      ]);
      expect(said(vendor, answer)).toMatch(/must|required/);
    }
    expect(await accepted()).toBe(before);
  });

  const wrongs = [1, true, {}, [{}], [[]], ''];
  /** An empty text is valid. */
  const isFine = (name: string, wrong: unknown): boolean => wrong === '' && ['text', 'TextBody'].includes(name);
  const wrongFields = SENDS.flatMap(([vendor, path, good]) =>
    Object.keys(good).flatMap((name) =>
      wrongs.filter((wrong) => !isFine(name, wrong)).map((wrong) => ({ vendor, path, good, name, wrong })),
    ),
  );

  test.each(wrongFields)('$vendor refuses $name: $wrong, by that name', async ({ vendor, path, good, name, wrong }) => {
    const answer = await ask(vendor, 'POST', path, { payload: { ...good, [name]: wrong } });
    expect(Math.floor(answer.status / 100)).toBe(4);
    expect(said(vendor, answer)).toContain(name);
  });

  test.each(SENDS)('%s refuses unknown fields', async (vendor, path, good) => {
    const answer = await ask(vendor, 'POST', path, { payload: { ...good, constructor: 1, toString: 2, nothing: 3 } });
    for (const name of ['constructor', 'toString', 'nothing'])
      expect(said(vendor, answer)).toContain(`${name} is not a known field`);
  });

  test.each(SENDS)('%s refuses broken JSON, other media types and prototypes', async (vendor, path, good) => {
    const broken = await ask(vendor, 'POST', path, { payload: '{"from":' });
    expect(broken.status).toBe(vendor === 'postmark' ? 422 : 400);
    const form = await ask(vendor, 'POST', path, { payload: 'a=b', headers: { 'content-type': 'text/plain' } });
    expect(form.status).toBe(vendor === 'postmark' ? 422 : 415);
    const text = JSON.stringify(good).replace('{', '{"__proto__":{"subject":"x"},');
    expect(said(vendor, await ask(vendor, 'POST', path, { payload: text }))).toContain('__proto__');
  });

  test.each(SENDS)('%s refuses ten megabytes of text, and thirty of anything', async (vendor, path, good) => {
    const ten = await ask(vendor, 'POST', path, { payload: { ...good, more: 'x'.repeat(10_000_000) } });
    const thirty = await ask(vendor, 'POST', path, { payload: 'x'.repeat(30_000_000) });
    expect([ten.status, thirty.status]).toEqual([413, 413]);
    expect(said(vendor, ten)).toMatch(/larger than \d+ bytes/);
  });

  test.each(BATCHES)('%s %s refuses batches that are invalid, empty or too long', async (vendor, path, good) => {
    const wrap = (messages: unknown): unknown => {
      if (vendor === 'sendgrid') return { ...SENDGRID, personalizations: messages };
      return Array.isArray(good) ? messages : { Messages: messages };
    };
    for (const [messages, words] of [
      [{}, 'must be an array'],
      [[], 'must not be empty'],
      [Array.from({ length: 501 }, () => ({})), 'must have at most 500 items'],
    ] as const)
      expect(said(vendor, await ask(vendor, 'POST', path, { payload: wrap(messages) }))).toContain(words);
  });

  test('sendgrid refuses one body that would become more than a batch may hold', async () => {
    const people = Array.from({ length: 100 }, () => ({ to: [{ email: 'b@example.org' }] }));
    const large = { ...SENDGRID, content: [{ type: 'text/plain', value: 'x'.repeat(100_000) }] };
    const before = await accepted();
    const answer = await ask('sendgrid', 'POST', '/v3/mail/send', { payload: { ...large, personalizations: people } });
    expect([answer.status, answer.body.errors[0].message]).toEqual([
      413,
      expect.stringContaining('100 personalizations'),
    ]);
    const attached = {
      ...SENDGRID,
      attachments: [{ filename: 'a', content: 'A'.repeat(400_000) }],
      personalizations: people,
    };
    expect((await ask('sendgrid', 'POST', '/v3/mail/send', { payload: attached })).status).toBe(413);
    expect(await accepted()).toBe(before);
  });
});
