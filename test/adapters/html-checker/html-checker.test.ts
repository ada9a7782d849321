import { afterEach, describe, expect, it } from 'vitest';
import { createHtmlChecker, type HtmlCheckerOptions } from '../../../src/adapters/html-checker/html-checker.ts';
import { type HtmlChecker, HtmlCheckUnavailable } from '../../../src/domain/html-checker.ts';

const opened: HtmlChecker[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((checker) => checker.close()));
});

const open = (options?: HtmlCheckerOptions): HtmlChecker => {
  const checker = createHtmlChecker(options);
  opened.push(checker);
  return checker;
};

const LARGE = `${'<p>x</p>\n'.repeat(100_000)}</div>`;

describe('a large body', () => {
  it('gets the same answer as a small one', async () => {
    const checker = open();
    expect(await checker.check('<p>x</p>\n</div>')).toEqual([
      { line: 2, column: 1, message: 'unexpected end tag </div>' },
    ]);
    expect(await checker.check(LARGE)).toEqual([{ line: 100_001, column: 1, message: 'unexpected end tag </div>' }]);
  });

  it('does not keep the event loop waiting', async () => {
    const checker = open();
    await checker.check(LARGE); // the thread has started
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await Promise.all([checker.check(LARGE), checker.check(LARGE), checker.check(LARGE)]);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  it('whose time is over is a fault of ours, and the next one is checked again', async () => {
    const checker = open({ timeLimitMs: 1 });
    await expect(checker.check(LARGE)).rejects.toThrow(HtmlCheckUnavailable);
    const patient = open();
    expect(await patient.check(LARGE)).toHaveLength(1);
  });

  it('is not taken when too many wait', async () => {
    const checker = open();
    const html = '<p>x</p>'.repeat(3000);
    const checks = Array.from({ length: 80 }, () => checker.check(html));
    const results = await Promise.allSettled(checks);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(64);
    expect(results.at(-1)).toMatchObject({ reason: expect.any(HtmlCheckUnavailable) });
  });

  it('is refused after the checker was closed', async () => {
    const checker = open();
    const pending = expect(checker.check(LARGE)).rejects.toThrow(HtmlCheckUnavailable);
    await checker.close();
    await pending;
    await expect(checker.check(LARGE)).rejects.toThrow(HtmlCheckUnavailable);
  });
});
