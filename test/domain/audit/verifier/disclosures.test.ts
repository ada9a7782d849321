import { describe, expect, test } from 'vitest';
import { MalformedDisclosure, readDisclosure } from '../../../../src/domain/audit/verifier/disclosure.ts';
import { type AuditLogWriter, createAuditLog, verify } from '../../../support/audit-export.ts';
import {
  type DisclosedPart,
  type DisclosureAnswer,
  disclosedPart,
  disclosureOf,
  removed,
  rootOf,
} from '../../../support/disclosures.ts';

const PARTS = [
  disclosedPart('recipient/rcp_1', { address: 'ann@example.org', kind: 'to' }),
  disclosedPart('recipient/rcp_2', { address: 'bob@example.org', kind: 'cc' }),
  disclosedPart('head', { from: { address: 'us@example.com' }, subject: 'Hello 🙂' }),
  disclosedPart('html', '<p>Hello</p>'),
];
const AT = 7;

/** A log with a message whose event commits to these parts. */
const logWith = (parts: readonly DisclosedPart[] = PARTS): AuditLogWriter => {
  const log = createAuditLog();
  log.fill(AT - 1);
  log.add({ stream: 'erasure-ers_1', type: 'ErasureRequested', data: { erasureId: 'ers_1' } });
  log.add({ stream: 'message-msg_x', id: 'evt-x', data: { contentRoot: rootOf(parts), messageId: 'msg_x' } });
  log.fill(300);
  return log;
};

const WORDS_MAX = 100;
const answer = (parts: readonly DisclosedPart[] = PARTS): DisclosureAnswer => disclosureOf('evt-x', AT, parts);

const check = (log: AuditLogWriter, disclosures: readonly object[], from = 0) =>
  verify(log.export({ from }), {
    keys: [log.signer.verifierKey],
    disclosures: disclosures.map((each) => readDisclosure(JSON.stringify(each), WORDS_MAX)),
  });

const replaced = (at: number, part: object): readonly DisclosedPart[] =>
  PARTS.with(at, { ...(PARTS[at] as DisclosedPart), ...part });

describe('a disclosure checked with an export', () => {
  test('matches what the event is bound to, and its contents are listed', async () => {
    expect(await check(logWith(), [answer()])).toMatchObject({
      verdict: 'consistent',
      faults: [],
      doubts: [],
      disclosed: [
        'leaf 7, event evt-x: recipient/rcp_1 is {"address":"ann@example.org","kind":"to"}',
        'leaf 7, event evt-x: recipient/rcp_2 is {"address":"bob@example.org","kind":"cc"}',
        'leaf 7, event evt-x: head is {"from":{"address":"us@example.com"},"subject":"Hello 🙂"}',
        'leaf 7, event evt-x: html is "<p>Hello</p>"',
      ],
    });
  });

  test('is reported although no key decides about the export', async () => {
    const disclosures = [readDisclosure(JSON.stringify(answer()), WORDS_MAX)];
    const { verdict, disclosed } = await verify(logWith().export(), { disclosures });
    expect([verdict, disclosed.length]).toEqual(['undecided', PARTS.length]);
  });

  test('has hashes in place of what was removed by an erasure that is in the log', async () => {
    const parts = PARTS.map((part, at) => (at === 1 ? part : removed(part, at === 0 ? null : 'ers_1')));
    const { verdict, disclosed } = await check(logWith(), [answer(parts)]);
    expect(verdict).toBe('consistent');
    expect(disclosed).toEqual([
      expect.stringContaining('recipient/rcp_1 was removed by retention at 2031-05-17'),
      expect.stringContaining('recipient/rcp_2 is {"address":"bob@example.org"'),
      expect.stringContaining('head was erased by ers_1 at 2031-05-17'),
      expect.stringContaining('html was erased by ers_1'),
    ]);
    const unknown = PARTS.map((part) => removed(part, 'ers_2'));
    expect(await check(logWith(), [answer(unknown)])).toMatchObject({
      verdict: 'undecided',
      doubts: ['the erasure ers_2, which removed parts, is not in this export'],
    });
  });

  test('of an event before or after the export leaves it undecided', async () => {
    const log = logWith();
    expect(await check(log, [answer()], 100)).toMatchObject({
      verdict: 'undecided',
      faults: [],
      doubts: [
        'event evt-x is not in this export: its disclosure says leaf 7, but the export contains leaves 100 to 299',
      ],
      disclosed: [],
    });
    const behind = { ...disclosureOf('evt-y', 300, PARTS) };
    expect((await check(log, [behind])).doubts[0]).toMatch('says leaf 300, but the export contains leaves 0 to 299');
  });

  test('of an event bound to no content says so, and one whose parts are all gone leaves it undecided', async () => {
    const log = logWith();
    log.add({ id: 'evt-none', stream: 'message-msg_none' });
    expect(await check(log, [disclosureOf('evt-none', 300, [])])).toMatchObject({
      verdict: 'consistent',
      disclosed: ['leaf 300, event evt-none, has no content'],
    });
    expect(await check(log, [{ ...answer(), parts: [] }])).toMatchObject({
      verdict: 'undecided',
      doubts: ['the disclosure of event evt-x shows neither content nor hashes'],
    });
  });

  test('shows what a mail server replied and who asked, each bound by its own root', async () => {
    const [reply, client] = [disclosedPart('reply', { text: '250 ok' }), disclosedPart('client', { address: '::1' })];
    const log = logWith();
    log.add({ id: 'evt-r', stream: 'message-msg_r', data: { smtp: { replyRoot: reply.hash } } });
    const shown = (part: DisclosedPart) => ({ ...disclosureOf('evt-r', 300, []), reply: { root: part.hash, part } });
    expect(await check(log, [{ ...shown(reply), origin: null }])).toMatchObject({
      verdict: 'consistent',
      disclosed: ['leaf 300, event evt-r: reply is {"text":"250 ok"}'],
    });
    const other = disclosedPart('reply', { text: '550 no' });
    for (const lie of [
      shown(other),
      { ...shown(reply), reply: null },
      { ...shown(reply), reply: { root: reply.hash, part: { ...reply, leaf: other.leaf } } },
      { ...shown(reply), reply: { root: other.hash, part: reply } },
      { ...shown(reply), origin: { root: client.hash, part: client } },
    ])
      expect((await check(log, [lie])).verdict).toBe('not verified');
  });

  test.each<readonly [string, object, string]>([
    [
      'another content',
      answer(replaced(3, { leaf: disclosedPart('html', '<p>Bye</p>').leaf })),
      'does not match its hash',
    ],
    [
      'another content with its hash',
      answer(replaced(3, disclosedPart('html', 'Bye'))),
      'has a different content root',
    ],
    [
      'another content under the root of the event',
      { ...answer(replaced(3, disclosedPart('html', 'Bye'))), content_root: rootOf(PARTS) },
      'do not match the content of leaf 7',
    ],
    [
      'parts in another order',
      { ...answer(PARTS.toReversed()), content_root: rootOf(PARTS) },
      'do not match the content',
    ],
    ['a part less', { ...answer(PARTS.slice(1)), content_root: rootOf(PARTS) }, 'do not match the content'],
    ['a part under another name', answer(replaced(3, { name: 'text' })), 'is not [salt, name, value]'],
    ['no content', disclosureOf('evt-x', AT, []), 'has a different content root'],
    ['parts without a root', { ...answer(), content_root: null }, 'has a different content root'],
    ['another leaf', { ...answer(), leaf_index: 8 }, 'is leaf 7, but its disclosure says leaf 8'],
    [
      'an event that is not there',
      { ...answer(), event_id: 'evt-z' },
      'is not in the log, although its disclosure says it is leaf 7',
    ],
    [
      'another hash in the place of what was removed',
      { ...answer(replaced(3, { ...removed(disclosedPart('html', 'Bye'), 'ers_1') })), content_root: rootOf(PARTS) },
      'do not match the content',
    ],
  ])('that shows %s is a fault', async (_, disclosure, words) => {
    const { verdict, faults, disclosed } = await check(logWith(), [disclosure]);
    expect(verdict).toBe('not verified');
    expect(faults.join()).toContain(words);
    const shown = disclosed.filter((sentence) => sentence.includes('Bye') || sentence.includes('text'));
    expect(shown).toEqual([]);
  });
});

const MEMBERS = ['leaf', 'hash', 'name'] as const;

const flipped = (text: string, at: number): string =>
  `${text.slice(0, at)}${String.fromCharCode(text.charCodeAt(at) ^ 1)}${text.slice(at + 1)}`;

/** Each part with one character changed, at every position of every member. */
const changes = PARTS.flatMap((part, index) =>
  MEMBERS.flatMap((member) =>
    Array.from({ length: (part[member] as string).length }, (_, at) => ({
      what: `${part.name}: ${member} at ${at}`,
      parts: PARTS.with(index, { ...part, [member]: flipped(part[member] as string, at) }),
    })),
  ),
);

const readOrNull = (parts: readonly DisclosedPart[]) => {
  try {
    return readDisclosure(JSON.stringify({ ...answer(), parts }), WORDS_MAX);
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedDisclosure);
    return null;
  }
};

test('each character of a shown leaf, salt, hash or name is bound: a changed one is found', async () => {
  const log = logWith();
  const bytes = log.export();
  for (const { what, parts } of changes) {
    const disclosure = readOrNull(parts);
    if (disclosure === null) continue;
    const { verdict } = await verify(bytes, { keys: [log.signer.verifierKey], disclosures: [disclosure] });
    expect([what, verdict]).toEqual([what, 'not verified']);
  }
});

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

describe('an invalid disclosure', () => {
  const part = PARTS[3] as DisclosedPart;
  const ofReason = (erasureId: string | null, reason: string) => {
    const gone = removed(part, erasureId);
    return { ...gone, removed: { ...gone.removed, reason } };
  };
  test.each<readonly [string, unknown]>([
    ['text', 'hello'],
    ['null', null],
    ['a list', [answer()]],
    ['another object', { ...answer(), object: 'audit_proof' }],
    ['without an event', { ...answer(), event_id: 7 }],
    ['of an event with a line feed in its id', { ...answer(), event_id: 'evt-x\n' }],
    ['without a leaf', { ...answer(), leaf_index: '7' }],
    ['of a leaf below 0', { ...answer(), leaf_index: -1 }],
    ['of a leaf that no number names', { ...answer(), leaf_index: 2 ** 60 }],
    ['with an invalid root', { ...answer(), content_root: 7 }],
    ['without parts', { ...answer(), parts: { 0: part } }],
    ['with an invalid part', { ...answer(), parts: [null] }],
    ['with a part that has no name', { ...answer(), parts: [{ ...part, name: '' }] }],
    ['with a part of a huge name', { ...answer(), parts: [{ ...part, name: 'x'.repeat(10_000) }] }],
    ['with a part that has no hash', { ...answer(), parts: [{ ...part, hash: null }] }],
    ['with a hash in another form', { ...answer(), parts: [{ ...part, hash: `${part.hash}\n` }] }],
    ['with an invalid leaf', { ...answer(), parts: [{ ...part, leaf: ['salt', 'html', ''] }] }],
    ['with a part that is shown and removed', { ...answer(), parts: [{ ...removed(part), leaf: part.leaf }] }],
    ['with a part that is gone without a word', { ...answer(), parts: [{ ...part, leaf: null }] }],
    ['with a removal of another kind', { ...answer(), parts: [{ ...removed(part), removed: { reason: 'lost' } }] }],
    ['with an erasure of no id', { ...answer(), parts: [ofReason(null, 'erased')] }],
    ['with an expiry by an erasure', { ...answer(), parts: [ofReason('ers_1', 'expired')] }],
    ['with a part twice', answer([part, part])],
  ])('is refused: %s', (_, value) => {
    expect(() => readDisclosure(JSON.stringify(value), WORDS_MAX)).toThrow(MalformedDisclosure);
  });

  test('is refused: JSON that breaks off, or is nested deeper than a stack', () => {
    expect(() => readDisclosure(JSON.stringify(answer()).slice(0, -1), WORDS_MAX)).toThrow(MalformedDisclosure);
    expect(() => readDisclosure(DEEP, WORDS_MAX)).toThrow(MalformedDisclosure);
    const leaf = `["${'A'.repeat(22)}","html",${DEEP}]`;
    expect(readDisclosure(JSON.stringify(answer([{ ...part, leaf }])), WORDS_MAX).problems).toHaveLength(1);
  });
});

test('ten megabytes of a part are checked in seconds, and shown in one line', async () => {
  const large = [disclosedPart('html', '"é\u001b[2J\u202e'.repeat(1_200_000))];
  const { verdict, disclosed } = await check(logWith(large), [answer(large)]);
  expect(verdict).toBe('consistent');
  expect(disclosed[0]?.length).toBeLessThan(500);
  for (const hidden of ['\u001b', '\u202e']) expect(disclosed[0]).not.toContain(hidden);
});
