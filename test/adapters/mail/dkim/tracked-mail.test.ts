import { readdirSync, readFileSync } from 'node:fs';
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import type { TrackedHtml } from '../../../../src/domain/ports/mail.ts';
import { htmlToText } from '../../../../src/lib/html/html.ts';
import { type MailParts, outgoingMail } from '../outgoing-mail.ts';
import { CORPUS } from './corpus.ts';
import { BOTH, bytesOf, signing, verify } from './signed-mail.ts';

const HTML = '<p>Hello <a href="https://shop.test/?a=1&amp;b=2">shop</a> <a href="mailto:x@y.test">mail</a></p>';

const trackedFor = (reader: string): TrackedHtml => ({
  targetOf: (href) => (href.startsWith('https:') ? href : null),
  hrefOf: (target) => `https://t.test/c/${reader}?u=${encodeURIComponent(target)}`,
  pixelUrl: `https://t.test/o/${reader}`,
});

test('the signature covers the tracked copy of each recipient, and the text is made from the untracked html', async () => {
  const mail = outgoingMail({ signing, html: HTML });
  for (const reader of ['ann', 'bob']) {
    const raw = (await bytesOf({ ...mail, tracking: trackedFor(reader) })).toString('latin1');
    expect(await verify(raw)).toEqual(BOTH);
    const { html, text } = await PostalMime.parse(raw);
    expect(html).toContain(
      `<a href="https://t.test/c/${reader}?u=https%3A%2F%2Fshop.test%2F%3Fa%3D1%26b%3D2">shop</a>`,
    );
    expect(html).toContain(`<img src="https://t.test/o/${reader}"`);
    expect(html).toContain('mailto:x@y.test');
    expect(text).toContain('https://shop.test/?a=1&b=2');
    expect(text).not.toContain('t.test');
    expect(await verify(raw.replaceAll(`/c/${reader}`, '/c/other'))).not.toEqual(BOTH);
  }
});

test('an untracked copy is signed unchanged, also next to a tracked one', async () => {
  const mail = outgoingMail({ signing, html: HTML });
  await bytesOf({ ...mail, tracking: trackedFor('ann') });
  const raw = (await bytesOf(mail)).toString('latin1');
  expect(await verify(raw)).toEqual(BOTH);
  expect((await PostalMime.parse(raw)).html?.trim()).toBe(HTML);
});

test('each copy contains its own address in html and text, also in text made from the html, and is signed with it', async () => {
  const html = `<p><a href="{{ view_url }}">View in browser</a> or {{view_url}}</p>${HTML}`;
  for (const more of [{ html }, { html, text: 'At {{- view_url -}} or\n{{ view_url }} or {{ view_urls }}' }]) {
    const mail = outgoingMail({ signing, ...more });
    for (const reader of ['ann', 'bob']) {
      const viewUrl = `https://mail.test/view/${reader}`;
      const raw = (await bytesOf({ ...mail, tracking: trackedFor(reader), viewUrl })).toString('latin1');
      expect(await verify(raw)).toEqual(BOTH);
      const { html: shown = '', text = '' } = await PostalMime.parse(raw);
      expect(shown).toContain(`<a href="${viewUrl}">View in browser</a> or ${viewUrl}`);
      expect(text.split(viewUrl)).toHaveLength(3);
      expect(shown + text).not.toMatch(/view_url\b/);
    }
    const raw = (await bytesOf({ ...mail, viewUrl: 'https://mail.test/view/eve' })).toString('latin1');
    expect(await verify(raw)).toEqual(BOTH);
  }
});

describe('the text of a tracked mail is that of the same mail untracked, byte by byte', () => {
  const HTML_FILES = new URL('../../../fixtures/html/valid/', import.meta.url);
  const written = readdirSync(HTML_FILES).map(
    (file) => [file, readFileSync(new URL(file, HTML_FILES), 'utf8')] as const,
  );

  /**
   * The text part with its header, encoded as sent. Empty if the HTML contains no text, because there is no text part
   * then.
   */
  const textIn = (raw: string): string => /\r\nContent-Type: text\/plain[\s\S]*?(?=\r\n--)/i.exec(raw)?.[0] ?? '';

  const expectSameText = async (parts: MailParts): Promise<void> => {
    const mail = outgoingMail({ signing, ...parts });
    const tracked = await bytesOf({ ...mail, tracking: trackedFor('ann') });
    const text = textIn(tracked.toString('latin1'));
    expect(text === '').toBe(parts.text === undefined && htmlToText(parts.html ?? '').trim() === '');
    expect(text).toBe(textIn((await bytesOf(mail)).toString('latin1')));
    expect(await verify(tracked)).toEqual(BOTH);
  };

  test.each(written)('made from %s', async (_, html) => {
    await expectSameText({ html });
  });

  test.each(Object.entries(CORPUS).filter(([, { text = '' }]) => text !== ''))(
    'given with html: %s',
    async (_, parts) => {
      await expectSameText({ ...parts, html: HTML });
    },
  );
});
