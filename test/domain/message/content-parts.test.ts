import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { contentParts, contentRoot, saltedParts } from '../../../src/domain/message/draft.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import { atOnce } from '../../../src/lib/async/async.ts';
import {
  inclusionRanges,
  leafHash,
  nodeHash,
  partHash,
  rootOfInclusion,
  rootOfParts,
} from '../../../src/lib/transparency/transparency.ts';

const SALT = 'AAAAAAAAAAAAAAAAAAAAAA';

const BODY: MessageBody = {
  kind: 'message',
  messageId: 'msg_1',
  from: { address: 'shop@example.test' },
  recipients: [
    { id: 'rcp_1', kind: 'to', address: 'ann@example.net', name: 'Ann' },
    { id: 'rcp_2', kind: 'cc', address: 'bob@example.org' },
  ],
  shown: { to: [{ address: 'list@example.org' }], cc: [] },
  replyTo: [],
  subject: 'Hello',
  html: '<p>"Ann"</p>\u0000',
  text: 'Ann',
  headers: { 'X-A': 'b' },
  attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: Buffer.from('abc').toString('base64') }],
  alternatives: [{ contentType: 'text/calendar', content: '', beforeHtml: true }],
  tags: [],
  metadata: {},
  analysis: { score: 1, verdict: 'pass', findings: [] },
};

const partsOf = (body: MessageBody) => atOnce(contentParts(body));

describe('the parts of a content', () => {
  test('are each recipient, the head, and bodies and attachments by their SHA-256', () => {
    expect(partsOf(BODY)).toEqual([
      { name: 'recipient/rcp_1', value: { kind: 'to', address: 'ann@example.net', name: 'Ann' } },
      { name: 'recipient/rcp_2', value: { kind: 'cc', address: 'bob@example.org' } },
      {
        name: 'head',
        value: {
          from: { address: 'shop@example.test' },
          replyTo: [],
          subject: 'Hello',
          headers: { 'X-A': 'b' },
          tags: [],
          metadata: {},
        },
      },
      { name: 'shown', value: { to: [{ address: 'list@example.org' }], cc: [] } },
      { name: 'html', value: '<p>"Ann"</p>\u0000' },
      { name: 'text', value: 'Ann' },
      {
        name: 'alternative/0',
        value: { name: undefined, type: 'text/calendar', beforeHtml: true, size: 0, sha256: hash('sha256', '') },
      },
      {
        name: 'attachment/0',
        value: { name: 'a.txt', type: 'text/plain', size: 3, sha256: hash('sha256', 'abc') },
      },
    ]);
  });

  test('are the same when the content was stored and read', () => {
    const salts = partsOf(BODY).map(() => SALT);
    const stored = { ...BODY, salts, html: undefined } as unknown as MessageBody;
    const read = JSON.parse(JSON.stringify(stored)) as MessageBody;
    const rootOf = (body: MessageBody) => contentRoot(atOnce(saltedParts(body)) ?? []);
    expect(rootOf(read)).toBe(rootOf(stored));
    expect(rootOf({ ...read, subject: 'Hullo' })).not.toBe(rootOf(read));
    expect(atOnce(saltedParts(BODY))).toBeNull();
  });

  test('hash attachments of many megabytes with pauses, in one line or in several', () => {
    const bytes = Buffer.alloc(3_000_001, 'x');
    const content = bytes.toString('base64');
    const lines = content.replace(/.{76}/g, '$&\r\n');
    const digests = [content, lines].map((each) => {
      const work = contentParts({ ...BODY, attachments: [{ filename: 'a', contentType: 'a/b', content: each }] });
      let pauses = 0;
      for (;;) {
        const { done, value } = work.next();
        if (done === true) return { pauses, value: value.at(-1)?.value };
        pauses += 1;
      }
    });
    expect(digests.map(({ value }) => value)).toEqual([
      { name: 'a', type: 'a/b', size: bytes.length, sha256: hash('sha256', bytes) },
      { name: 'a', type: 'a/b', size: bytes.length, sha256: hash('sha256', bytes) },
    ]);
    expect(digests[0]?.pauses).toBeGreaterThan(2);
  });
});

describe('the root over parts', () => {
  test('is that of RFC 9162 over leaves of salt, name and value', () => {
    expect(partHash({ salt: SALT, name: 'head', value: { b: 1, a: 'ä' } })).toEqual(
      leafHash(`["${SALT}","head",{"a":"ä","b":1}]`),
    );
    for (let size = 1; size <= 20; size += 1) {
      const hashes = Array.from({ length: size }, (_, at) => leafHash(`${at}`));
      const mth = (of: readonly Buffer[]): Buffer => {
        if (of.length === 1) return of[0] as Buffer;
        const middle = 2 ** (Math.ceil(Math.log2(of.length)) - 1);
        return nodeHash(mth(of.slice(0, middle)), mth(of.slice(middle)));
      };
      expect(rootOfParts(hashes)).toEqual(mth(hashes));
    }
    const [first, second] = [leafHash('0'), leafHash('1')];
    expect(inclusionRanges(0, 2)).toHaveLength(1);
    expect(rootOfInclusion(0, 2, first, [second])).toEqual(rootOfParts([first, second]));
  });
});
