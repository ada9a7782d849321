import { describe, expect, test } from 'vitest';
import { type AnalyzerOptions, createAnalyzer } from '../../../../src/adapters/html/analyzer.ts';
import { AnalysisUnavailable, type Analyzer } from '../../../../src/domain/analysis/facts.ts';
import { ADVERSARIAL_HTML } from '../../../support/adversarial-html.ts';
import { closedAfterTest } from '../../../support/after-test.ts';
import { messageWith } from './analysed.ts';

const OWNER = 'org_1';
/** A long default time-out, because the machine may be busy. Tests of time-outs set their own. */
const open = (options: AnalyzerOptions = { waitMsMax: 60_000 }): Analyzer => closedAfterTest(createAnalyzer(options));

const PARAGRAPHS = '<p>Thank you for your order.</p>\n';
const large = (more = '') =>
  messageWith({ html: `${PARAGRAPHS.repeat(25_000)}${more}`, text: 'Thank you for your order.' });

describe('a large message', () => {
  test('gets the same answer as a small one', async () => {
    const analyzer = open();
    const ending = '<a href="http://shop.example/">x</a>{{name}}';
    const small = await analyzer.analyze(messageWith({ html: `${PARAGRAPHS}${ending}` }), OWNER);
    const answer = await analyzer.analyze(large(ending), OWNER);
    const told = ({ rule, message, column }: (typeof answer.findings)[number]) => ({ rule, message, column });
    expect(answer.findings.filter(({ rule }) => rule !== 'html-clipped').map(told)).toEqual(small.findings.map(told));
    expect(answer.findings[0]?.line).toBe(25_001);
  });

  test('does not block the event loop', async () => {
    const analyzer = open();
    await analyzer.analyze(large(), OWNER); // starts the thread
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await Promise.all([
      analyzer.analyze(large(), OWNER),
      analyzer.analyze(large(), OWNER),
      analyzer.analyze(large(), OWNER),
    ]);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  test('has only the first bytes of its attachments read', async () => {
    const attachments = [
      {
        filename: 'a.pdf',
        contentType: 'a/b',
        content: Buffer.from('MZ\x90').toString('base64').padEnd(20_000_000, 'A'),
      },
    ];
    const subject = { ...large(), draft: { ...large().draft, attachments } };
    const { findings, sizeBytes } = await open().analyze(subject, OWNER);
    expect(findings.map(({ rule, field }) => [rule, field])).toContainEqual([
      'attachment-executable',
      'attachments[0]',
    ]);
    expect(sizeBytes).toBeGreaterThan(20_000_000);
  });

  test('does not delay an ordinary one', async () => {
    const analyzer = open();
    const ordinary = messageWith({ html: PARAGRAPHS.repeat(1000) });
    await Promise.all([analyzer.analyze(large(), OWNER), analyzer.analyze(ordinary, OWNER)]); // starts both threads
    const ended: string[] = [];
    const worst = Object.values(ADVERSARIAL_HTML).slice(0, 3);
    await Promise.all([
      ...worst.map((html) => analyzer.analyze(messageWith({ html }), OWNER).then(() => ended.push('large'))),
      analyzer.analyze(ordinary, OWNER).then(() => ended.push('ordinary')),
    ]);
    expect(ended.indexOf('ordinary')).toBeLessThan(2);
  });

  test('that times out while it waits is a fault, and the next one is analysed again', async () => {
    const hurried = open({ waitMsMax: 1 });
    const first = hurried.analyze(large(), OWNER);
    await expect(hurried.analyze(large(), OWNER)).rejects.toThrow(AnalysisUnavailable);
    await first;
    expect((await hurried.analyze(messageWith(), OWNER)).score).toBe(100);
    expect(await open().analyze(large(), OWNER)).toMatchObject({ verdict: 'warn' });
  });

  test('is refused when too many wait', async () => {
    const analyzer = open();
    const subject = messageWith({ html: PARAGRAPHS.repeat(300) });
    const results = await Promise.allSettled(Array.from({ length: 80 }, () => analyzer.analyze(subject, OWNER)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(64);
    expect(results.at(-1)).toMatchObject({ reason: expect.any(AnalysisUnavailable) });
  });

  test('is refused after the analyzer was closed, but a small one is not', async () => {
    const analyzer = open();
    const pending = expect(analyzer.analyze(large(), OWNER)).rejects.toThrow(AnalysisUnavailable);
    await analyzer.close();
    await pending;
    await expect(analyzer.analyze(large(), OWNER)).rejects.toThrow(AnalysisUnavailable);
    expect((await analyzer.analyze(messageWith(), OWNER)).verdict).toBe('pass');
  });
});
