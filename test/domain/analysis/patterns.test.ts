import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const FOLDERS = ['../../../src/domain/analysis/', '../../../src/lib/html/', '../../../src/adapters/html/'];
/** A regular expression literal. It only appears where a value may begin. */
const LITERAL = /(?<=[=(,[:]\s*|^\s*)\/(?![/*])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([a-z]*)(?=[\s,;.)\]])/gm;

/** Every regular expression of the analysis, found in the source so that a new one cannot be forgotten. */
const patterns = FOLDERS.flatMap((folder) => {
  const root = new URL(folder, import.meta.url).pathname;
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      Array.from(readFileSync(join(root, file), 'utf8').matchAll(LITERAL), ([, source = '', flags = '']) => ({
        file,
        source,
        flags,
      })),
    );
});

const CHARACTERS = 100_000;
const MICROSECONDS = 1000;
/** A linear search takes 5 ms, a quadratic one half a minute. The rest allows for a busy machine. */
const TIME_LIMIT_MS = 400;

/** Pieces of the expression itself come closest to matching it. One character of every class is added. */
const piecesOf = (source: string): readonly string[] => [
  ...new Set([
    ...source.replaceAll(/\\[\w]|[()[\]?*+|^$\\]/g, ''),
    ...(source.match(/[A-Za-z0-9_{}%<&#:/.-]{2,}/g) ?? []),
  ]),
  'a',
  'A',
  '0',
  ' ',
  '\n',
  '.',
  '-',
  '_',
  '{',
  '%',
  '<',
  '&',
  '\u00c3',
  '\u00a4',
  'ä',
  '漢',
  '\u200b',
];

const longestMs = (pattern: RegExp, source: string): number => {
  let longest = 0;
  const piece = fc.constantFrom(...piecesOf(source));
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 4 }),
      fc.array(piece, { minLength: 1, maxLength: 4 }),
      piece,
      (head, unit, end) => {
        const repeated = unit.join('');
        const text = head.join('') + repeated.repeat(Math.ceil(CHARACTERS / repeated.length)) + end;
        const begun = process.threadCpuUsage();
        for (const match of text.matchAll(pattern)) if (match.index < 0) throw new Error('never');
        longest = Math.max(longest, process.threadCpuUsage(begun).user / MICROSECONDS);
      },
    ),
    { numRuns: 20 },
  );
  return longest;
};

describe('every pattern of the analysis', () => {
  test('was found', () => {
    const literals = patterns.map(({ source }) => source);
    expect(literals.length).toBeGreaterThan(40);
    expect(literals).toContain('\\bhttps?:\\/\\/[^\\s<>"\'`{}|\\\\^]+');
    expect(literals).toContain('\\{{2,3}[^{}\\n]{1,200}\\}{2,3}');
    expect(literals).toContain('^\\s*cid:');
  });

  test.each(patterns)('takes time linear in the text: $file $source', ({ source, flags }) => {
    const pattern = new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
    expect(longestMs(pattern, source)).toBeLessThan(TIME_LIMIT_MS);
  });
});
