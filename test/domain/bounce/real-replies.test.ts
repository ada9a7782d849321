import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { quotedReply } from '../../../src/adapters/inbound-reports/mail-parts.ts';
import { type ClassifiedReply, classifyReply } from '../../../src/domain/bounce/classify.ts';
import type { ReplyStage } from '../../../src/domain/ports/mail.ts';
import { parseReply } from '../../../src/lib/smtp/smtp.ts';

interface Real {
  readonly source: string;
  readonly language: string;
  readonly stage: string;
  readonly category: string;
  readonly text: string;
}

const REAL = readFileSync(new URL('../../fixtures/real-replies.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line): Real => {
    const [source = '', language = '', stage = '', category = '', text = ''] = line.split('\t');
    return { source, language, stage, category, text };
  });

const said = ({ stage, text }: Real): ClassifiedReply =>
  stage === 'report'
    ? { ...quotedReply(text), text, mx: null }
    : { ...parseReply(text), mx: null, stage: stage as ReplyStage };

test.each(REAL)('$category: $text ($stage, $source)', (real) => {
  expect(classifyReply(said(real))).toBe(real.category);
});

test('there are enough of them, in eight languages', () => {
  expect(REAL.length).toBeGreaterThan(150);
  expect(new Set(REAL.map(({ language }) => language))).toEqual(
    new Set(['en', 'fr', 'es', 'it', 'de', 'pt', 'ru', 'ja']),
  );
});
