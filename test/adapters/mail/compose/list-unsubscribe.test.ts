import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { createPostOffice, headerOf, longestLine } from '../post-office.ts';

const { send, sent } = createPostOffice();

const ONE_CLICK = 'List-Unsubscribe=One-Click';
/** RFC 2369 §2: URLs in angle brackets, separated by commas. */
const uris = (header = ''): readonly string[] => {
  expect(header).toMatch(/^<[^<>\s]+>(?:, *<[^<>\s]+>)*$/);
  return [...header.matchAll(/<([^<>]+)>/g)].map(([, uri]) => uri ?? '');
};

/** Both headers as parsed by two independent parsers. */
const headersOf = async (mail: Awaited<ReturnType<typeof sent>>) => {
  const own = (name: string) => headerOf(mail, name)?.replace(/\s+/g, ' ');
  const { headers } = await PostalMime.parse(Buffer.from(mail.raw, 'latin1'));
  for (const name of ['list-unsubscribe', 'list-unsubscribe-post']) {
    const values = headers.filter(({ key }) => key === name).map(({ value }) => value.replace(/\s+/g, ' '));
    expect(values).toEqual(own(name) === undefined ? [] : [own(name)]);
  }
  return { list: own('list-unsubscribe'), post: own('list-unsubscribe-post') };
};

describe('List-Unsubscribe', () => {
  it('is absent unless requested', async () => {
    expect(await headersOf(await sent({}))).toEqual({ list: undefined, post: undefined });
  });

  it('has the link and the address, and one-click because of the link', async () => {
    const mail = await sent({ unsubscribe: { url: 'https://a.test/u?x=1', mailto: 'leave+1@a.test' } });
    const { list, post } = await headersOf(mail);
    expect(uris(list)).toEqual(['https://a.test/u?x=1', 'mailto:leave%2B1@a.test']);
    expect(post).toBe(ONE_CLICK);
    const list2369 = mail.headers.get('list') as unknown as { unsubscribe: { url: string; mail: string } };
    expect(list2369.unsubscribe).toMatchObject({ url: 'https://a.test/u?x=1' });
  });

  it('has no one-click for only an address, nor for a link that is not https', async () => {
    expect(await headersOf(await sent({ unsubscribe: { mailto: 'leave@a.test' } }))).toEqual({
      list: '<mailto:leave@a.test>',
      post: undefined,
    });
    expect(await headersOf(await sent({ unsubscribe: { url: 'http://127.0.0.1:3000/unsubscribe/x' } }))).toEqual({
      list: '<http://127.0.0.1:3000/unsubscribe/x>',
      post: undefined,
    });
    expect((await headersOf(await sent({ unsubscribe: { url: 'HTTPS://a.test/' } }))).post).toBe(ONE_CLICK);
  });

  it('keeps the longest link and address on lines that any server accepts', async () => {
    const url = `https://a.test/${'x'.repeat(885)}`;
    const mailto = `${'ü'.repeat(32)}@${'b'.repeat(63)}.${'c'.repeat(63)}.test`;
    const mail = await sent({ unsubscribe: { url, mailto } });
    const [link, address = ''] = uris((await headersOf(mail)).list);
    expect(link).toBe(url);
    expect(decodeURIComponent(address)).toBe(`mailto:${mailto}`);
    expect(longestLine(mail.raw)).toBeLessThanOrEqual(998);
    expect(mail.raw).toMatch(/^[\t\r\n -~]*$/);
  });

  it.each(["!#$%&'*+/=?^_`{|}~-@a.test", 'a,b@a.test', 'a;b@a.test', '用户@a.test'])(
    'carries the address %s so that programs find it again',
    async (mailto) => {
      const [address = ''] = uris((await headersOf(await sent({ unsubscribe: { mailto } }))).list);
      expect(decodeURIComponent(new URL(address).pathname)).toBe(mailto);
      expect(address).toMatch(/^mailto:[\w.~%!*'()-]+@a\.test$/);
    },
  );

  it('is left as the sender wrote it', async () => {
    const mail = await sent({
      headers: { 'List-Unsubscribe': '<mailto:x@a.test>', 'List-Unsubscribe-Post': ONE_CLICK },
    });
    expect(await headersOf(mail)).toEqual({ list: '<mailto:x@a.test>', post: ONE_CLICK });
  });

  it.each(['List-Unsubscribe', 'list-unsubscribe-POST'])(
    'next to %s from the sender is a fault, because requests with both were refused before',
    async (name) => {
      const unsubscribe = { url: 'https://a.test/' };
      await expect(send({ unsubscribe, headers: { [name]: '<https://b.test/>' } })).rejects.toThrow('cannot be given');
    },
  );

  it.each([
    {},
    { url: 'https://a.test/\r\nBcc: b@c.test' },
    { url: 'https://a.test/> <b' },
    { url: 'https://a.test/ü' },
    { url: '' },
    { mailto: 'a@b.test\r\nBcc: b' },
    { mailto: 'a@b.test>,<https://c.test' },
    { url: `https://a.test/${'x'.repeat(1000)}` },
  ])('of %j is a fault, because requests with it were refused before', async (unsubscribe) => {
    await expect(send({ unsubscribe })).rejects.toThrow('List-Unsubscribe');
  });
});
