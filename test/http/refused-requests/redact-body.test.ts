import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redactBody, redactPath, redactSentence } from '../../../src/http/refused-requests/redact.ts';
import { createBoundedJson, type SentJson } from '../../../src/lib/http/bounded-json.ts';
import { processorMs } from '../../support/processor-time.ts';

/** Number of characters that are read from a body. */
const BEGINNING = 256_000;
const sent = (text: string): SentJson => ({
  beginning: () => ({ bytes: Buffer.from(text).subarray(0, BEGINNING), isWhole: text.length <= BEGINNING }),
  contentBytes: () => undefined,
});
const shown = (text: string, ...asked: string[]) => redactBody(sent(text), asked);
const pretty = (value: unknown): string => JSON.stringify(value, null, 2);

describe('the body of a refused request', () => {
  test('shows names, numbers and words of the API, and how long everything else is', () => {
    const body = {
      from: 'Shop <shop@example.test>',
      to: ['Ann.Example@example.org', { address: 'bob@example.org', name: 'Bob' }],
      subject: 'Your bill',
      html: '<p>Hello Ann</p>',
      stream: 'transactionl',
      topic: 'top_aaaaaaaaaaaaaaaaaaaaaaaaaa',
      ttl_seconds: 60,
      metadata: { customer: 4711, 'ann@example.org': 'x' },
      tags: [{ name: 'order', value: '17' }],
    };
    expect(shown(pretty(body)).text).toBe(
      pretty({
        from: '***@example.test',
        to: ['***@example.org', { address: '***@example.org', name: '*** (3 characters)' }],
        subject: '*** (9 characters)',
        html: '*** (16 characters)',
        stream: 'transactionl',
        topic: 'top_aaaaaaaaaaaaaaaaaaaaaaaaaa',
        ttl_seconds: 60,
        metadata: { customer: '***', '***': '*** (1 character)' },
        tags: [{ name: '*** (5 characters)', value: '*** (2 characters)' }],
      }),
    );
    expect(shown(pretty(body)).addresses).toEqual(['shop@example.test', 'Ann.Example@example.org', 'bob@example.org']);
  });

  test('that was sent in one line is shown in many', () => {
    const body = { to: [], headers: {}, messages: [{ ttl_seconds: 1 }, [2, true, null]] };
    expect(shown(JSON.stringify(body))).toMatchObject({ text: pretty(body), formatted: true, cut: false });
    expect(shown(pretty(body))).toMatchObject({ text: pretty(body), formatted: false, cut: false });
  });

  test('hides secrets, long numbers and unknown names', () => {
    const text = JSON.stringify({ url: 'https://a.test/?key=1', secret: `ob_live_${'a'.repeat(49)}`, 'a b': 1 });
    expect(shown(`${text.slice(0, -1)},"n":${'9'.repeat(30)}}`).text).toBe(
      pretty({ url: '*** (21 characters)', secret: '*** (57 characters)', '***': 1, n: '***' }),
    );
  });

  test.each([
    ['to[1].address', 3, 13, '"***@b.test"'],
    ['to[1]', 3, 1, '{'],
    ['stream', 4, 12, '"bulky"'],
    ['a/b~c', 5, 10, '1'],
  ])('says where %s was sent', (path, line, column, marked) => {
    const text = '{"to": ["a@b.test",\r\n\n{"address": "c@b.test"}],\n "stream": "bulky",\n"a/b~c": 1}';
    const body = shown(text, path);
    const place = body.places.get(path);
    expect(place).toMatchObject({ line, column });
    expect(body.text.slice(place?.marked?.start, place?.marked?.end)).toBe(marked);
    expect(text.split('\n')[line - 1]?.charAt(column - 1)).toBe(marked.charAt(0));
    expect(shown(text, 'a/b~c').places.get('a/b~c')?.pointer).toBe('/a~1b~0c');
  });

  test('says where the outer field of a missing one is', () => {
    const { places, names } = shown('{"to":[{}],"x":1}', 'to[0].address', 'x', 'subject');
    expect(places.get('to[0]')).toMatchObject({ pointer: '/to/0', column: 8 });
    expect(names.get('x')).toMatchObject({ column: 12 });
    expect(places.has('subject')).toBe(false);
  });

  test.each([
    ['{"to": "a@b.test"\n "subject": 1}', 2, 2, 'a comma'],
    ["{'to': 1}", 1, 2, 'a name in double quotes'],
    ['{"to": [1,]}', 1, 11, 'a value'],
    ['{"to": tru}', 1, 8, 'a value'],
    ['{"to": "a\nb"}', 1, 10, 'the rest of a string'],
    ['{"to": "a\\x"}', 1, 10, 'the rest of a string'],
    ['{"to": 01}', 1, 9, 'a comma'],
    ['{"to" 1}', 1, 7, 'a colon'],
    ['{"to": 1', 1, 9, 'a comma'],
    ['{"to": 1}}', 1, 10, 'nothing more'],
    ['[1}', 1, 3, 'a comma'],
    ['\ufeff{}', 1, 1, 'a value'],
    ['{"__proto__": 1}', 1, 2, 'a name other than __proto__'],
    ['[', 1, 2, 'a value or ]'],
    ['', 1, 1, 'a value'],
    ['['.repeat(30), 1, 21, 'at most 20 levels'],
  ])('says where %j stops being JSON', (text, line, column, expected) => {
    const { fault, text: told } = shown(text);
    expect(fault).toMatchObject({ line, column, expected: expect.stringContaining(expected) });
    expect(told.slice(fault?.marked?.start)).toBe('…');
  });

  test('counts columns past the removed contents of attachments', async () => {
    const bounds = { bytesMax: 1e6, restBytesMax: 1e6, valuesMax: 100, contentsAt: ['attachments', null, 'content'] };
    const json = createBoundedJson(bounds, 'content:marker:');
    const text = `{"attachments":[{"content":"${'QUJD'.repeat(100)}\\/","filename":"a.txt"}],"stream":1}`;
    for (let at = 0; at < text.length; at += 150) json.add(Buffer.from(text.slice(at, at + 150)));
    await json.end();
    json.release();
    const body = redactBody(json.sent, ['stream']);
    expect(body.places.get('stream')?.column).toBe(text.indexOf(':1}') + 2);
    expect(body.text).toContain('"content": "*** (402 bytes)"');
    expect(body.text).not.toContain('QUJD');
    expect(body.text).not.toContain('marker');
  });

  const anything = fc.json({ maxDepth: 5 }).map((text) => JSON.parse(text) as unknown);
  const local = fc.stringMatching(/^[a-z0-9.+_-]{0,10}$/).map((text) => `zq${text}xk`);
  const address = fc
    .tuple(local, fc.constantFrom('example.org', 'münchen.example', 'a.b.c.test'))
    .map((of) => of.join('@'));
  const spelled = address.chain((text) =>
    fc.constantFrom(text, `Ann <${text}>`, text.replace('@', '%40'), `x ${text} y`, `"a b"${text}`, text.toUpperCase()),
  );
  const withAddress = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, spelled, anything, tie('list'), tie('map')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    map: fc.dictionary(
      fc.oneof(spelled, fc.constantFrom('to', 'stream', 'topic', 'role', 'x.y', 'a[0]', 'metadata')),
      tie('value'),
      { maxKeys: 4 },
    ),
  })).value;

  /** Escapes some characters. JSON allows it for every character. */
  const escaped = (text: string): string => text.replaceAll('@', '\\u0040').replaceAll('q', '\\u0071');

  test('never shows an address, whole or broken, plain or escaped', () => {
    fc.assert(
      fc.property(withAddress, fc.integer({ min: 0, max: 400 }), fc.boolean(), (value, cutAt, escapes) => {
        const whole = JSON.stringify(value, null, cutAt % 3);
        const text = escapes ? escaped(whole) : whole;
        for (const one of [text, text.slice(0, cutAt)]) {
          const { text: told } = shown(one, 'to', 'to[0]');
          expect(told.toLowerCase()).not.toMatch(/zq.*xk/);
          expect(told.length).toBeLessThanOrEqual(4_000);
        }
      }),
      { numRuns: 300 },
    );
  });

  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };

  test('has a fault exactly if JSON.parse finds one', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.nat(), fc.string({ maxLength: 2 }), (text, number, other) => {
        const at = number % (text.length + 1);
        const damaged = `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
        fc.pre(damaged.length < 1_000 && !damaged.includes('__proto__'));
        expect(shown(damaged).fault === null).toBe(isJson(damaged));
      }),
      { numRuns: 1_000 },
    );
  });

  test('is JSON of the same structure wherever it is whole', () => {
    fc.assert(
      fc.property(anything, fc.boolean(), (value, isLong) => {
        const text = isLong ? pretty(value) : JSON.stringify(value);
        const told = shown(text);
        fc.pre(!told.cut && !text.includes('__proto__'));
        expect(typeof JSON.parse(told.text)).toBe(
          typeof value === 'number' && text.length > 24 ? 'string' : typeof value,
        );
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['a deep one', '['.repeat(BEGINNING)],
    ['one string', `"${'\\n'.repeat(BEGINNING / 2)}`],
    ['quotes', '"'.repeat(BEGINNING)],
    ['spaces', ' '.repeat(BEGINNING)],
    ['lines', `[${'1,\n'.repeat(BEGINNING / 3)}`],
    ['names', `{${`"${'a'.repeat(90)}":[],`.repeat(BEGINNING / 96)}`],
    ['a number', '1'.repeat(BEGINNING)],
    ['addresses', `[${'"a@b.test",'.repeat(BEGINNING / 11)}`],
    ['10 MB', '[1,'.repeat(3_500_000)],
  ])('is read in linear time: %s', (_, text) => {
    const asked = Array.from({ length: 20 }, (__, index) => `to[${index}].address`);
    let told = '';
    const tookMs = processorMs(() => {
      told = shown(text, ...asked).text;
    });
    // About 10 ms on an idle machine. A quadratic algorithm takes minutes.
    expect(tookMs).toBeLessThan(2_000);
    expect(told.length).toBeLessThanOrEqual(4_000);
  });
});

describe('a sentence of a refused request', () => {
  test.each([
    ['to[0] must be an email address: "a@b" is none', 'to[0] must be an email address: "***" is none'],
    ['ann@example.org is suppressed', '*** is suppressed'],
    ['see https://a.test/u/ann?x=1 now', 'see https://a.test/*** now'],
    ['key ob_live_abc and whsec_abc', 'key *** and ***'],
    ["API key lacks 'admin' permission", "API key lacks 'admin' permission"],
    ['to is not an email address: it has no @', 'to is not an email address: it has no @'],
    ['a\r\nb\0c', 'a  b c'],
    ['ann%40example.org ann＠example.org', '*** ***'],
  ])('%j becomes %j', (text, told) => {
    expect(redactSentence(text, 300)).toBe(told);
  });

  test('is bounded', () => {
    expect(redactSentence('a '.repeat(1_000_000), 300)).toHaveLength(300);
    expect(redactSentence(`"${'@'.repeat(1_000_000)}`, 300).length).toBeLessThanOrEqual(300);
  });
});

test.each([
  ['/v1/messages/msg_aaaaaaaaaaaaaaaaaaaaaaaaaa/content?x=1', '/v1/messages/msg_aaaaaaaaaaaaaaaaaaaaaaaaaa/content'],
  ['/v1/suppressions/ann@example.org', '/v1/suppressions/***'],
  ['/v1/x/ob_live_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '/v1/x/***'],
  [`/v1/templates/tpl_${'a'.repeat(26)}/versions/3/diff`, `/v1/templates/tpl_${'a'.repeat(26)}/versions/3/diff`],
  ['/', '/'],
  ['/v1', '/v1'],
])('the path %s is shown as %s', (path, told) => {
  expect(redactPath(path)).toBe(told);
});
