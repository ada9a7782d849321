import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createHtmlTracker, trackHtml, trackingPlaces } from '../../../src/adapters/html/tracked-links.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import type { TrackedHtml } from '../../../src/domain/ports/mail.ts';
import { trackedTarget } from '../../../src/domain/tracking/tracking.ts';

const untracked = { publicUrl: 'https://mail.service.test' };
const PIXEL = 'https://t.test/o/token';

const tracking = (pixelUrl: string | null = null): TrackedHtml => ({
  targetOf: (href) => trackedTarget(href, untracked),
  hrefOf: (target, link, links) => `https://t.test/c/${link}-${links}?u=${encodeURIComponent(target)}`,
  pixelUrl,
});

const track = (html: string, pixelUrl: string | null = null): string =>
  trackHtml(html, trackingPlaces(html), tracking(pixelUrl));

describe('links of tracked html', () => {
  test.each([
    ['<a href="https://a.test/">x</a>', '<a href="https://t.test/c/0-1?u=https%3A%2F%2Fa.test%2F">x</a>'],
    ["<A  HREF = 'https://a.test/'\n>x</A>", "<A  HREF = 'https://t.test/c/0-1?u=https%3A%2F%2Fa.test%2F'\n>x</A>"],
    ['<a href=https://a.test/>x</a>', '<a href="https://t.test/c/0-1?u=https%3A%2F%2Fa.test%2F">x</a>'],
    [
      '<a href="https://a.test/?b=1&amp;c=2" title="https://a.test/">x</a>',
      '<a href="https://t.test/c/0-1?u=https%3A%2F%2Fa.test%2F%3Fb%3D1%26c%3D2" title="https://a.test/">x</a>',
    ],
    [
      '<map name="m"><area href="https://a.test/" alt=""></map>',
      '<map name="m"><area href="https://t.test/c/0-1?u=https%3A%2F%2Fa.test%2F" alt=""></map>',
    ],
  ])('are replaced in %j', (html, expected) => {
    expect(track(html)).toBe(expected);
  });

  test.each([
    '<a href="mailto:a@b.test">x</a><a href="tel:+49">x</a><a href="#a">x</a><a name="a">x</a><a href>x</a>',
    '<a href="https://a.test/" data-outbox-track="off">x</a>',
    '<a data-outbox-track=OFF href="https://a.test/">x</a>',
    '<!-- <a href="https://a.test/">x</a> -->',
    '<!--[if mso]><a href="https://a.test/">x</a><![endif]-->',
    '<style>a[href="https://a.test/"] { color: red }</style>',
    '<title><a href="https://a.test/">x</a></title>',
    '<img src="https://a.test/" alt="<a href=https://a.test/>">',
    '<link href="https://a.test/">',
    '<a href="javascript:alert(1)">x</a>',
    '&lt;a href="https://a.test/"&gt;',
    '<a href="https://mail.service.test/unsubscribe/abc">x</a>',
    '<a href="{{ view_url }}">x</a><a href="https://a.test/?of={{ view_url }}">x</a>',
    'plain text, https://a.test/',
  ])('are left unchanged in %j', (html) => {
    expect(track(html)).toBe(html);
  });

  test('are numbered among the tracked links', () => {
    const html = track('<a href="https://a.test/">1</a><a href="tel:1">2</a><a href="https://a.test/">3</a>');
    expect(html.match(/c\/\d-\d/g)).toEqual(['c/0-2', 'c/1-2']);
  });

  test('beyond a thousand are left unchanged', () => {
    const html = track('<a href="https://a.test/">x</a>'.repeat(1200));
    expect(html.match(/t\.test/g)).toHaveLength(1000);
    expect(html.match(/"https:\/\/a\.test\/"/g)).toHaveLength(200);
  });
});

describe('the image that reports opens', () => {
  const IMAGE = `<img src="${PIXEL}" alt="" width="1" height="1" border="0" style="width:1px;height:1px;border:0;margin:0;padding:0">`;

  test.each([
    ['<html><body><p>x</p></body></html>', `<html><body><p>x</p>${IMAGE}</body></html>`],
    ['<BODY>x</BODY >\n', `<BODY>x${IMAGE}</BODY >\n`],
    ['<p>x', `<p>x${IMAGE}`],
    ['<p>x</p><!-- </body> -->', `<p>x</p><!-- </body> -->${IMAGE}`],
    ['', IMAGE],
  ])('is at the end of the body of %j', (html, expected) => {
    expect(track(html, PIXEL)).toBe(expected);
  });
});

const CORPUS = new URL('../../fixtures/html/valid/', import.meta.url);

describe('every template of the corpus', () => {
  test.each(readdirSync(CORPUS))('%s is unchanged except for its links and the image', (file) => {
    const html = readFileSync(new URL(file, CORPUS), 'utf8');
    const { links, pixelAt } = trackingPlaces(html);
    const written = track(html, PIXEL);
    let at = 0;
    let rest = written;
    const skip = (text: string): void => {
      expect(rest.startsWith(text)).toBe(true);
      rest = rest.slice(text.length);
    };
    const edits = [
      ...links.filter(({ href }) => trackedTarget(href, untracked) !== null),
      { start: pixelAt, end: pixelAt, href: null },
    ].toSorted((left, right) => left.start - right.start);
    for (const { start, end, href } of edits) {
      skip(html.slice(at, start));
      const edit =
        href === null ? /^<img src="https:\/\/t\.test\/o\/token"[^>]*>/ : /^(["'])https:\/\/t\.test\/c\/[^"']*\1/;
      skip(edit.exec(rest)?.[0] ?? 'an edit');
      at = end;
    }
    expect(rest).toBe(html.slice(at));
    // The result parses the same way: as many links, each with its original target.
    const again = trackingPlaces(written).links.map(({ href }) => URL.parse(href)?.searchParams.get('u') ?? href);
    expect(again).toEqual(links.map(({ href }) => trackedTarget(href, untracked) ?? href));
  });

  test('contains links of many kinds', () => {
    const all = readdirSync(CORPUS).flatMap(
      (file) => trackingPlaces(readFileSync(new URL(file, CORPUS), 'utf8')).links,
    );
    expect(all.length).toBeGreaterThan(50);
  });
});

const bodyOf = (html: string): MessageBody => ({
  kind: 'message',
  messageId: 'msg_1',
  from: { address: 'a@shop.test' },
  recipients: [],
  replyTo: [],
  subject: '',
  html,
  headers: {},
  attachments: [],
  tags: [],
  metadata: {},
});

test('large html is read in a thread, once for all copies', async () => {
  const tracker = createHtmlTracker();
  const html = `<p>${'x'.repeat(30_000)}</p><a href="https://a.test/">x</a>`;
  const body = bodyOf(html);
  const copies = await Promise.all([PIXEL, null].map((url) => tracker.htmlOf({ body, tracking: tracking(url) })));
  expect(copies).toEqual([track(html, PIXEL), track(html)]);
  expect(await tracker.htmlOf({ body })).toBe(html);
  await tracker.close();
});

test('links of an organization do not wait for all of another, whatever their senders are', async () => {
  const tracker = createHtmlTracker();
  const html = `<p>${'x'.repeat(30_000)}</p><a href="https://a.test/">x</a>`;
  const ended: string[] = [];
  const find = async (organizationId: string): Promise<void> => {
    await tracker.htmlOf({ organizationId, body: bodyOf(html), tracking: tracking(null) });
    ended.push(organizationId);
  };
  await Promise.all([...Array(20).fill('org_a'), 'org_b'].map(find));
  expect(ended.indexOf('org_b')).toBeLessThan(5);
  await tracker.close();
});
