import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FINDINGS_MAX, type Finding } from '../../../../src/domain/analysis/analysis.ts';
import { analysed } from './analysed.ts';

const PIECES = [
  '<p>',
  '</p>',
  '<b>',
  '</b>',
  '<div style="display:none">',
  '</div>',
  '<table><tr><td>',
  '</table>',
  '<a href="',
  'https://a.example',
  'http://127.0.0.1',
  '">',
  '</a>',
  '<img src=x>',
  '<style>@import',
  '</style>',
  '<!--',
  '-->',
  '<script>',
  '</script>',
  '<svg><path/>',
  '</svg>',
  '{{',
  '}}',
  '<%=',
  '%>',
  '&amp;',
  '&nbsp;',
  '&#x',
  '<',
  '>',
  '"',
  "'",
  '=',
  '\r\n',
  '\r',
  '\n',
  '\ufffd',
  'Ã¤',
  '😀',
  '\u202e',
  '\ud800',
  'text',
  ' ',
  '\0',
  '<![CDATA[',
  ']]>',
];
const source = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 5, unit: 'binary' })), {
  maxLength: 60,
});

/** Lines as a text editor counts them. */
const linesOf = (text: string): readonly string[] => text.split(/\r\n|\r|\n/);

const draftOf = (html: readonly string[], text: readonly string[], subject: string, name: string) => ({
  html: html.join(''),
  text: text.join(''),
  subject,
  from: { address: 'a@shop.example', name },
  attachments: [{ filename: name, contentType: 'a/b', content: 'TVo=' }],
});

const isPlaceIn = (text: string, { line = 1, column = 1 }: Pick<Finding, 'line' | 'column'>): boolean =>
  column >= 1 && column <= (linesOf(text)[line - 1]?.length ?? -1) + 1;

test('any message gets an analysis that is repeatable and bounded, with each place within its text', () => {
  const words = fc.string({ maxLength: 100 });
  fc.assert(
    fc.property(fc.tuple(source, source, words, words), (given) => {
      const draft = draftOf(...given);
      const analysis = analysed(draft);
      expect(analysed(draft)).toEqual(analysis);
      expect(analysis.score).toSatisfy((score: number) => Number.isInteger(score) && score >= 0 && score <= 100);
      expect(analysis.findings.length).toBeLessThanOrEqual(FINDINGS_MAX);
      expect(analysis.findings.filter(({ message }) => !message.isWellFormed())).toEqual([]);
      const placed = analysis.findings.filter(({ line }) => line !== undefined);
      const textOf = ({ field }: Finding): string => (field === 'html' ? draft.html : draft.text);
      expect(placed.filter((finding) => !isPlaceIn(textOf(finding), finding))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
