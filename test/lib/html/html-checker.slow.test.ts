import { describe, expect, it } from 'vitest';
import { createHtmlChecker, type HtmlCheckerOptions } from '../../../src/lib/html/html-checker.ts';
import { type HtmlChecker, HtmlCheckUnavailable } from '../../../src/lib/html/tokens.ts';
import { OUTPUT_START } from '../../../src/lib/templates/templates.ts';
import { ADVERSARIAL_HTML } from '../../support/adversarial-html.ts';
import { closedAfterTest } from '../../support/after-test.ts';

const open = (options?: HtmlCheckerOptions): HtmlChecker => closedAfterTest(createHtmlChecker(options));

const OWNER = 'org_1';
const LARGE = `${'<p>x</p>\n'.repeat(100_000)}</div>`;

describe('a large body', () => {
  it('gets the same answer as a small one', async () => {
    const checker = open();
    expect(await checker.check('<p>x</p>\n</div>', OWNER)).toEqual([
      { line: 2, column: 1, message: 'unexpected end tag </div>' },
    ]);
    expect(await checker.check(LARGE, OWNER)).toEqual([
      { line: 100_001, column: 1, message: 'unexpected end tag </div>' },
    ]);
  });

  it('does not block the event loop', async () => {
    const checker = open();
    await checker.check(LARGE, OWNER); // starts the thread
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await Promise.all([checker.check(LARGE, OWNER), checker.check(LARGE, OWNER), checker.check(LARGE, OWNER)]);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  it('that times out while it waits is a fault, and the next one is checked again', async () => {
    const checker = open({ waitMsMax: 1 });
    const first = checker.check(LARGE, OWNER);
    await expect(checker.check(LARGE, OWNER)).rejects.toThrow(HtmlCheckUnavailable);
    await first;
    const patient = open();
    expect(await patient.check(LARGE, OWNER)).toHaveLength(1);
  });

  it('is refused when too many wait', async () => {
    const checker = open({ waitMsMax: 60_000 });
    const html = '<p>x</p>'.repeat(3000);
    const checks = Array.from({ length: 1_100 }, () => checker.check(html, OWNER));
    const results = await Promise.allSettled(checks);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1_000);
    expect(results.at(-1)).toMatchObject({ reason: expect.any(HtmlCheckUnavailable) });
  });

  it('is refused after the checker was closed', async () => {
    const checker = open();
    const pending = expect(checker.check(LARGE, OWNER)).rejects.toThrow(HtmlCheckUnavailable);
    await checker.close();
    await pending;
    await expect(checker.check(LARGE, OWNER)).rejects.toThrow(HtmlCheckUnavailable);
  });
});

/** Processor time of this thread, which excludes other load on the machine. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** The longest turn of the event loop while the work runs. */
const longestTurnMs = async (work: () => Promise<unknown>): Promise<number> => {
  let longest = 0;
  let isDone = false;
  let before = cpuMs();
  const turn = (): void => {
    longest = Math.max(longest, cpuMs() - before);
    before = cpuMs();
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  return Math.max(longest, cpuMs() - before);
};

describe('hundreds of small bodies at once', () => {
  const BROKEN = `${'<td width="5" class="x">y &amp; z</td>\n'.repeat(510)}</div>`;
  const VALID = `<table><tr>${'<td width="5" class="x">y &amp; z</td>\n'.repeat(510)}</table>`;

  it.each([
    ['valid', VALID, 0],
    ['broken', BROKEN, 1],
  ])('all get their answer, and none waits for all others: %s', async (_, html, count) => {
    expect(html.length).toBeGreaterThan(19_000);
    expect(html.length).toBeLessThanOrEqual(20_000);
    const checker = open();
    await checker.check(html, OWNER);
    const counts: number[] = [];
    const check = async (index: number): Promise<number> =>
      counts.push((await checker.check(`${html}${index}`, OWNER)).length); // identical HTML is checked once
    const longest = await longestTurnMs(() => Promise.all(Array.from({ length: 500 }, (_each, index) => check(index))));
    expect(longest).toBeLessThan(50);
    expect(counts).toEqual(Array.from({ length: 500 }, () => count));
  });

  it('are answered in the order they arrived', async () => {
    const checker = open();
    const answered: number[] = [];
    const check = async (index: number): Promise<void> => {
      await checker.check(`${VALID}${index}`, OWNER);
      answered.push(index);
    };
    await Promise.all(Array.from({ length: 100 }, (_, index) => check(index)));
    expect(answered).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  it('do not hold up one that comes later', async () => {
    const checker = open();
    let left = 500;
    const check = async (): Promise<void> => {
      await checker.check(BROKEN, OWNER);
      left -= 1;
    };
    const batch = Promise.all(Array.from({ length: left }, check));
    await new Promise((resolve) => setImmediate(resolve));
    await checker.check('<p>x</p>', OWNER);
    expect(left).toBeGreaterThan(400);
    await batch;
  });

  it('are not required: a single one is checked without waiting for another turn', async () => {
    const checker = open();
    let isNextTurn = false;
    setImmediate(() => {
      isNextTurn = true;
    });
    await checker.check(VALID, OWNER);
    expect(isNextTurn).toBe(false);
  });
});

describe('an organization that floods the checker', () => {
  it.each([
    ['large bodies', ADVERSARIAL_HTML['one tag with 300,000 attributes'] ?? '', 6],
    ['small bodies', '<td width="5" class="x">y &amp; z</td>\n'.repeat(500), 600],
  ])('with %s does not hold up another', async (_, html, count) => {
    const checker = open({ waitMsMax: 60_000 }); // a busy machine needs time
    await checker.check(LARGE, 'org_1'); // starts the thread
    let left = count;
    const flood = Array.from({ length: count }, async (_each, index) => {
      await checker.check(`${html}${index}`, 'org_1');
      left -= 1;
    });
    await checker.check(html, 'org_2');
    expect(left).toBeGreaterThan(count / 2);
    await Promise.all(flood);
  });
});

describe('valid html', () => {
  const VALID = '<p>x</p>\n'.repeat(5_000);
  const REPLACED = VALID.replace('x', '\ufffd');

  /** Large HTML is checked in a thread, so a result within this turn came from the cache. */
  const isRemembered = async (html: string, owner: string, checker: HtmlChecker): Promise<boolean> => {
    let isNextTurn = false;
    setImmediate(() => {
      isNextTurn = true;
    });
    expect(await checker.check(html, owner)).toEqual([]);
    return !isNextTurn;
  };

  it('is checked once for each organization', async () => {
    const checker = open();
    expect(await isRemembered(VALID, OWNER, checker)).toBe(false);
    expect(await isRemembered(VALID, OWNER, checker)).toBe(true);
    expect(await isRemembered(VALID, 'org_other', checker)).toBe(false);
  });

  it('is checked again if it differs by one character, or half of one', async () => {
    const checker = open();
    expect(await isRemembered(REPLACED, OWNER, checker)).toBe(false);
    expect(await isRemembered(`${REPLACED} `, OWNER, checker)).toBe(false);
    const half = await checker.check(REPLACED.replace('\ufffd', '\ud800'), OWNER); // UTF-8 encodes it to the same bytes
    expect(half).toMatchObject([{ message: 'half of a surrogate pair' }]);
  });

  it('is checked again each time if it is broken', async () => {
    const checker = open();
    const before = await checker.check('<p></div>', OWNER);
    expect(before).toHaveLength(1);
    expect(await checker.check('<p></div>', OWNER)).toEqual(before);
  });
});

describe('html of a known shape', () => {
  const VALUE = OUTPUT_START;
  /** Checks a shape with one value. @returns true if invalid HTML declared with the same shape is then accepted. */
  const isRemembered = async (shape: string): Promise<boolean> => {
    const checker = open();
    expect(await checker.check(shape.replaceAll(VALUE, 'x'), OWNER, shape)).toEqual([]);
    return (await checker.check('<p></div>', OWNER, shape)).length === 0;
  };

  it.each([
    ['text', `<p>${VALUE}</p>`],
    ['values in quotes', `<p title="${VALUE}" class='a ${VALUE}'>a</p>`],
    ['a style', `<style>p { color: ${VALUE} }</style>`],
    ['text of a large body', `${'<p>x</p>\n'.repeat(5_000)}${VALUE}`],
    ['nothing', '<p>a</p>'],
  ])('is valid once it was, if values are %s', async (_, shape) => {
    expect(await isRemembered(shape)).toBe(true);
  });

  it.each([
    ['values without quotes', `<p title=${VALUE}>a</p>`],
    ['a part of a value without quotes', `<p title=a${VALUE}>a</p>`],
    ['names of attributes', `<p ${VALUE}>a</p>`],
    ['a part of a name', `<p a${VALUE}="b">a</p>`],
    ['names of elements', `<a${VALUE}>a</a${VALUE}>`],
    ['text after a less-than', `<p>a <${VALUE}</p>`],
    ['comments', `<!-- ${VALUE} -->`],
    ['a value without quotes beside one with', `<p title="${VALUE}" class=${VALUE}>a</p>`],
  ])('is checked each time if values are %s', async (_, shape) => {
    const checker = open();
    await checker.check(shape.replaceAll(VALUE, 'x'), OWNER, shape);
    expect(await checker.check('<p></div>', OWNER, shape)).not.toEqual([]);
  });

  it('is not trusted if it was not valid', async () => {
    const checker = open();
    expect(await checker.check('<p>x</div>', OWNER, `<p>${VALUE}</p>`)).not.toEqual([]);
    expect(await checker.check('<p>x</div>', OWNER, `<p>${VALUE}</p>`)).not.toEqual([]);
  });
});
