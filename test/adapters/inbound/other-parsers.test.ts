import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { readInbound } from '../../../src/adapters/inbound/read-inbound.ts';
import { numberedParts, parseMailLeniently } from '../../../src/lib/mime/mime.ts';
import { KEPT_DIFFERENCES } from './other-parsers/kept-differences.ts';
import { SAMPLES } from './other-parsers/samples.ts';

/** Our reader of mail, compared with Python's `email` and Perl's `Email::MIME`. */

interface ReadPart {
  readonly type: string;
  readonly isAttached: boolean;
  readonly inAlternative: boolean;
  readonly filename: string | null;
  readonly text: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A parser that fails has no answer. */
interface ReadByOther {
  readonly subject: string | null;
  readonly from: readonly (readonly [name: string, address: string])[] | null;
  readonly parts: readonly ReadPart[];
}

/** Fields that are compared; null: the parser has no answer. */
type Answers = Readonly<Record<'subject' | 'from' | 'text' | 'html' | 'attachments', string | null>>;

const QUESTIONS = ['subject', 'from', 'text', 'html', 'attachments'] as const;

const NO_ANSWERS: Answers = { subject: null, from: null, text: null, html: null, attachments: null };
const seen = new Set<string>();

const OTHERS = [
  ['python3', 'read.py', ['-c', 'import email']],
  ['perl', 'read.pl', ['-MEmail::MIME', '-MEmail::Address::XS', '-e', '1']],
] as const;

const areMissing =
  process.env.CI_ENGINES !== 'required' && OTHERS.some(([program, , probe]) => spawnSync(program, probe).status !== 0);

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
const plainEnd = (text: string): string => text.replaceAll('\r\n', '\n').trim();
const told = (value: unknown): string => JSON.stringify(value);

/** Sorts parts into what is shown and what is attached, as our reader does. */
const sorted = (parts: readonly ReadPart[]) => {
  const shown: ReadPart[] = [];
  const attached: ReadPart[] = [];
  for (const part of parts) {
    const isText = /^text\/(?:plain|html)$/.test(part.type) && !part.isAttached;
    const isFile = !part.inAlternative && shown.length > 0 && part.filename !== null && part.filename !== '';
    (isText && !isFile ? shown : attached).push(part);
  }
  return { shown, attached };
};

const joined = (parts: readonly ReadPart[], type: string): string =>
  plainEnd(
    parts
      .filter((part) => part.type === type)
      .map(({ text }) => text.replaceAll('\r\n', '\n'))
      .join('\n'),
  );

/** A name without folders; empty: none. */
const plainName = (name: string | null): string =>
  oneLine(name ?? '')
    .split(/[\\/]/)
    .at(-1) ?? '';

type File = readonly [name: string, bytes: number, sha256: string];

const filesTold = (files: readonly File[]): string => told(files.map((file) => file.join(' ')).toSorted());

const answersOf = ({ subject, from, parts }: ReadByOther): Answers => {
  const { shown, attached } = sorted(parts);
  return {
    subject: subject === null ? null : oneLine(subject),
    from: from === null ? null : told(from.map(([name, address]) => [oneLine(name), address])),
    text: joined(shown, 'text/plain'),
    html: joined(shown, 'text/html'),
    attachments: filesTold(attached.map(({ filename, bytes, sha256 }) => [plainName(filename), bytes, sha256])),
  };
};

const ourAnswers = (raw: Buffer): Answers => {
  const { subject, from, text, html, attachments } = readInbound({ raw, isPlain: true });
  const parts = numberedParts(parseMailLeniently(raw));
  return {
    subject: oneLine(subject),
    from: told(from.map(({ name = '', address }) => [name, address])),
    text: plainEnd(text ?? ''),
    html: plainEnd(html ?? ''),
    attachments: filesTold(
      attachments.map(({ part, filename, bytes }) => [
        filename ?? '',
        bytes,
        hash('sha256', Buffer.from(parts[part]?.content ?? '', 'base64'), 'hex'),
      ]),
    ),
  };
};

const readBy = (program: string, script: string): readonly Answers[] => {
  const input = JSON.stringify(SAMPLES.map(({ raw }) => raw.toString('base64')));
  const path = new URL(`./other-parsers/${script}`, import.meta.url).pathname;
  const { stdout, stderr } = spawnSync(program, [path], { input, maxBuffer: 100_000_000 });
  const read = JSON.parse(stdout.toString() || `"${stderr}"`) as readonly (ReadByOther | null)[];
  return read.map((one) => answersOf(one ?? { subject: null, from: null, parts: [] }));
};

/** Questions with an answer other than ours, if no parser answers like ours. */
const differencesOf = (ours: Answers, others: readonly Answers[]): Record<string, unknown> => {
  const different = QUESTIONS.filter((question) => {
    const answers = others.map((one) => one[question]).filter((one) => one !== null);
    return answers.length > 0 && !answers.includes(ours[question] ?? '');
  });
  return Object.fromEntries(different.map((question) => [question, [ours, ...others].map((one) => one[question])]));
};

describe.skipIf(areMissing)('a mail of an odd shape is read as Python or Perl reads it', () => {
  const others: (readonly Answers[])[] = [];
  beforeAll(() => {
    others.push(...OTHERS.map(([program, script]) => readBy(program, script)));
  });

  test.each(SAMPLES.map(({ name, raw }, at) => [name, raw, at] as const))('%s', (name, raw, at) => {
    const differences = differencesOf(
      ourAnswers(raw),
      others.map((one) => one[at] ?? NO_ANSWERS),
    );
    const kept = Object.keys(differences).filter((question) => `${name}: ${question}` in KEPT_DIFFERENCES);
    expect(differences).toEqual(Object.fromEntries(kept.map((question) => [question, differences[question]])));
    for (const question of kept) seen.add(`${name}: ${question}`);
  });

  test('and every difference that is kept is seen', () => {
    expect([...seen].toSorted()).toEqual(Object.keys(KEPT_DIFFERENCES).toSorted());
  });
});
