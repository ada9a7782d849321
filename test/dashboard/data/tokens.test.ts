import { describe, expect, test, vi } from 'vitest';
import { nearest, quoted, replaced, tokenAt, tokensIn } from '../../../src/dashboard/data/tokens.ts';
import { PROVIDERS, parseMessageSearch } from '../../../src/dashboard/messages/search-rules.ts';
import { PROVIDERS as COUNTED } from '../../../src/projections/stats/metrics.ts';

const KEY = `key_${'a'.repeat(26)}`;
const NAMES = {
  keys: new Map([
    ['Shop backend', KEY],
    ['accounts', `key_${'b'.repeat(26)}`],
  ]),
  domains: new Map([['example.test', `dom_${'c'.repeat(26)}`]]),
  templates: new Map<string, string>(),
};
const parse = (text: string, outcome: string | null = null) =>
  parseMessageSearch(text, { names: NAMES, isUtc: true, outcome });

describe('the text of a search', () => {
  test('knows the mailbox providers of the API', () => {
    expect(PROVIDERS.toSorted()).toEqual(COUNTED.toSorted());
    for (const provider of COUNTED)
      expect(parse(`provider:${provider}`)).toEqual({ changes: { mailbox_provider: provider }, problems: [] });
  });

  test('rejects ids that nothing can have', () => {
    const problems = (text: string) => parse(text).problems.map(({ message }) => message);
    expect(problems('request:x')).toEqual(['“x” is not a request id. Use the X-Request-Id of a response.']);
    expect(problems('message_id:x')).toEqual(['“x” is not a Message-ID. Use message_id:<msg_…@example.com>.']);
    expect(problems('template:order_sent')).toEqual(['There is no template with the name “order_sent”. Use its id.']);
    expect(parse('template:(none)').changes).toEqual({ template_id: '(none)' });
    expect(parse(`request:req_${'0'.repeat(32)} template:order-sent`).problems).toEqual([]);
  });

  test('holds several filters, with quotes around spaces', () => {
    vi.useFakeTimers({ now: Date.parse('2026-03-03T12:00:00Z') });
    try {
      expect(parse('status:bounced to:ann@x tag:welcome since:2d')).toEqual({
        changes: { status: 'bounced', to: 'ann@x', tag: 'welcome', since: '2026-03-01T12:00:00.000Z', period: null },
        problems: [],
      });
    } finally {
      vi.useRealTimers();
    }
    expect(parse('key:"shop backend" domain:example.test').changes).toEqual({
      key_id: KEY,
      domain_id: `dom_${'c'.repeat(26)}`,
    });
    expect(parse('STATUS: Bounced').changes).toEqual({ status: 'bounced' });
    expect(parse('until:2026-01-31').changes).toEqual({ until: '2026-01-31T00:00:00.000Z', period: 'all' });
  });

  test('finds messages by the time of their outcome', () => {
    const times = { outcome_since: '2026-01-30T00:00:00.000Z', outcome_until: '2026-01-31T00:00:00.000Z' };
    const text = 'outcome_since:2026-01-30 outcome_until:2026-01-31';
    const timed = { changes: { ...times, period: 'all' }, problems: [] };
    expect(parse(text, 'opened')).toEqual(timed);
    expect(parse(`outcome:bounced ${text}`).changes).toEqual({ ...timed.changes, outcome: 'bounced' });
    expect(parse(`status:clicked ${text}`).changes).toMatchObject({ ...times, outcome: 'clicked' });
    expect(parse(`outcome:bounced since:2026-01-01 ${text}`).changes).toMatchObject({ ...times, period: null });
    for (const outcome of [null, 'accepted', 'waiting']) expect(parse(text, outcome).problems).toHaveLength(1);
  });

  test.each([
    ['status:opened', { status: null, outcome: 'opened' }],
    ['order has shipped', { subject: 'order has shipped' }],
    ['status:bounced order shipped', { status: 'bounced', subject: 'order shipped' }],
    ['"Your order"', { subject: '"Your order"' }],
    ['subject:"Your order"', { subject: '"Your order"' }],
    ['ann@example.net', { to: 'ann@example.net' }],
    ['ann@example.net 550', { to: 'ann@example.net', smtp_code: '550' }],
    ['451 4.7.1', { smtp_code: '451 4.7.1' }],
    [KEY, { key_id: KEY }],
    [`req_${'0'.repeat(32)}`, { request_id: `req_${'0'.repeat(32)}` }],
    ['   ', {}],
  ])('%s', (text, changes) => {
    expect(parse(text)).toEqual({ changes, problems: [] });
  });

  test.each([
    ['statsu:bounced', 'is not a filter', 'status:bounced'],
    ['tga:welcome', 'is not a filter', 'tag:welcome'],
    ['status:bouncd', 'Use accepted', 'status:bounced'],
    ['key:acounts', 'There is no API key with the name', 'key:accounts'],
    ['key:nothing', 'There is no API key with the name', ''],
    ['since:whenever', 'Use since:2d', ''],
    ['to:@', 'has no letter or digit', ''],
    ['code:5', 'Use code:550', ''],
    ['status:', 'has no value', ''],
    ['status:bounced status:failed', 'can be used once', ''],
    ['since:1d until:2d', 'nothing can match', ''],
    ['outcome:bounced outcome_since:1d outcome_until:2d', 'nothing can match', ''],
    ['outcome_since:2d', 'needs an outcome', 'outcome:bounced outcome_since:2d'],
    ['status:bounced outcome_until:2d', 'needs an outcome', 'outcome:bounced outcome_until:2d'],
    ['outcome_since:whenever', 'Use outcome_since:2d', ''],
    ['https://example.com', 'is not a filter', 'subject:https://example.com'],
    ['constructor:x', 'is not a filter', 'subject:constructor:x'],
    ['__proto__:x', 'is not a filter', 'subject:__proto__:x'],
  ])('%s is not applied, and says what would work', (text, sentence, fix) => {
    const { changes, problems } = parse(text);
    expect(changes).toEqual({});
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toContain(sentence);
    expect(problems[0]?.fixes).toContain(fix);
  });

  test('takes a fix in the place of the token', () => {
    const text = 'to:ann tga:welcome since:2d';
    const [problem] = parse(text).problems;
    expect(problem && replaced(text, problem, problem.fixes[0] ?? '').text).toBe('to:ann tag:welcome since:2d');
    expect(problem && replaced(text, problem, '').text).toBe('to:ann since:2d');
  });

  test('stays quick, however hostile it is', () => {
    const before = process.cpuUsage().user;
    for (const text of ['"', '""', 'a', 'a:', ':', 'a"b', ' ', '\0', '\u202E']) {
      tokensIn(text.repeat(10_000));
      parse(text.repeat(1_000));
    }
    expect((process.cpuUsage().user - before) / 1_000).toBeLessThan(2_000);
    expect(parse('to:a\0b').problems).toEqual([]);
  });
});

describe('completion', () => {
  test('concerns the token at the caret', () => {
    const text = 'status:bounced to:ann key:"Shop b';
    expect(tokenAt(text, 14)).toMatchObject({ name: 'status', value: 'bounced' });
    expect(tokenAt(text, text.length)).toMatchObject({ name: 'key', value: '"Shop b' });
    expect(tokenAt('status:bounced ', 15)).toMatchObject({ text: '', name: null });
    const done = replaced(text, tokenAt(text, text.length), `key:${quoted('Shop backend')}`);
    expect(done).toEqual({ text: 'status:bounced to:ann key:"Shop backend" ', caret: 41 });
    expect(replaced('sta', { from: 0, to: 3 }, 'status:')).toEqual({ text: 'status:', caret: 7 });
  });

  test('finds what was probably meant', () => {
    expect(nearest('statsu', ['to', 'status'])).toBe('status');
    expect(nearest('del', ['sending', 'delivered'])).toBe('delivered');
    expect(nearest('x', ['to'])).toBeNull();
    expect(nearest('completely else', ['to', 'status'])).toBeNull();
  });
});
