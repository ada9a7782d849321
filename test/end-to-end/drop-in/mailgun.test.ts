import { expect, test } from 'vitest';
import { filesOf, firstMail, HOUR_MS, inMs, useProgram } from './program.ts';
import { usePublishedClients } from './published-clients.ts';

/** The published client, unmodified. */

const TEST_MS_MAX = 120_000;

// biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what the test looks at
type Answers = readonly any[];

const { now, arrived } = useProgram(['welcome']);
const printed = usePublishedClients(() => ({ URL_OF_SERVICE: `${now.baseUrl}/compat/mailgun`, KEY: now.key }));

/** Runs statements that print with `show`. `errorOf` is the status and message of a refusal. */
const program = (statements: string): Promise<unknown> =>
  printed(`
import FormData from 'form-data';
import Mailgun from 'mailgun.js';
const client = new Mailgun(FormData).client({ username: 'api', key: process.env.KEY, url: process.env.URL_OF_SERVICE });
console.warn = () => undefined;
const DOMAIN = 'example.test';
const errorOf = (sent) => sent.then(() => null, ({ status, details }) => [status, details]);
const results = [];
const show = (value) => results.push(value);
${statements}
console.log(JSON.stringify(results));`);

test(
  'messages.create sends files, headers, variables and options',
  async () => {
    const [sent, templated, scheduled, refused, unauthorized] = (await program(`
const mail = { from: 'Shop <shop@example.test>', to: ['Ann <ann@example.net>', 'bob@example.org'], subject: 'mailgun' };
show(await client.messages.create(DOMAIN, {
  ...mail,
  text: 'Hello',
  html: '<p>Hello <img src="cid:logo.png" alt="Logo"></p>',
  'h:Reply-To': 'help@example.test',
  'h:X-Order': '1234',
  'v:order': '1234',
  'o:tag': ['one', 'two'],
  'o:tracking': false,
  attachment: [{ data: Buffer.from('some text'), filename: 'a.txt', contentType: 'text/plain' }],
  inline: { data: Buffer.from('not really an image'), filename: 'logo.png' },
}));
show(await client.messages.create(DOMAIN, {
  from: mail.from, to: 'ann@example.net', template: 'welcome', 't:variables': JSON.stringify({ name: 'Ann' }),
}));
show(await client.messages.create(DOMAIN, {
  ...mail, text: 'Later', 'o:deliverytime': '${inMs(HOUR_MS).toUTCString()}',
}));
show(await errorOf(client.messages.create(DOMAIN, { ...mail, text: 'Hello', 'o:testmode': 'yes', 'recipient-variables': '{}' })));
const other = new Mailgun(FormData).client({ username: 'api', key: 'key-none', url: process.env.URL_OF_SERVICE });
show(await errorOf(other.messages.create(DOMAIN, mail)));`)) as readonly unknown[];
    const id = expect.stringMatching(/^<msg_\w+@example\.test>$/);
    expect(sent).toEqual({ status: 200, id, message: 'Queued. Thank you.' });
    expect(templated).toMatchObject({ status: 200, id });
    expect(scheduled).toMatchObject({ status: 200, id });
    expect(refused).toEqual([
      400,
      'o:testmode is not supported: use a test key (ob_test_…), which sends nothing; recipient-variables is not ' +
        'supported: send one message for each recipient with POST /v1/messages/batch',
    ]);
    expect(unauthorized).toEqual([401, expect.stringContaining('API key')]);
    const mail = firstMail(await arrived('mailgun'));
    expect([mail.headers.get('x-order'), mail.text?.trim()]).toEqual(['1234', 'Hello']);
    expect(filesOf(mail)).toEqual([
      ['a.txt', 'text/plain', undefined, 'some text'],
      ['logo.png', 'image/png', 'logo.png', 'not really an image'],
    ]);
    expect(firstMail(await arrived('Welcome Ann')).html).toContain('Hello Ann');
  },
  TEST_MS_MAX,
);

test(
  'suppressions are created, listed page by page, found and destroyed',
  async () => {
    const results = await program(`
const addresses = ['a', 'b', 'c'].map((name) => name + '@example.net');
show(await client.suppressions.create(DOMAIN, 'bounces', addresses.map((address) => ({ address, code: '550', error: 'no user' }))));
show(await client.suppressions.create(DOMAIN, 'complaints', { address: 'd@example.net' }));
show(await client.suppressions.create(DOMAIN, 'unsubscribes', { address: 'e@example.net', tag: '*' }));
show(await errorOf(client.suppressions.create(DOMAIN, 'unsubscribes', { address: 'f@example.net', tag: 'news' })));
show(await errorOf(client.suppressions.create(DOMAIN, 'bounces', [{ address: 'nobody' }])));
const found = [];
let page = await client.suppressions.list(DOMAIN, 'bounces', { limit: 2 });
for (; page.items.length > 0; page = await client.suppressions.list(DOMAIN, 'bounces', { limit: 2, page: page.pages.next.page }))
  found.push(...page.items.map(({ address, code, error }) => [address, code, error]));
show(found.sort());
show((await client.suppressions.list(DOMAIN, 'complaints')).items.map(({ address }) => address));
show((await client.suppressions.list(DOMAIN, 'unsubscribes')).items.map(({ address, tags }) => [address, tags]));
show(await client.suppressions.get(DOMAIN, 'bounces', 'a@example.net'));
show(await client.suppressions.destroy(DOMAIN, 'bounces', 'a@example.net'));
show(await errorOf(client.suppressions.get(DOMAIN, 'bounces', 'a@example.net')));
show(await errorOf(client.suppressions.list(DOMAIN, 'whitelists')));`);
    const bounce = (name: string) => [`${name}@example.net`, 550, '550 no user'];
    expect(results).toEqual([
      expect.objectContaining({ message: '3 addresses have been added to the bounces table', status: 200 }),
      expect.objectContaining({ message: 'Address has been added to the complaints table' }),
      expect.objectContaining({ message: 'Address has been added to the unsubscribes table' }),
      [400, expect.stringMatching(/^tag is not supported/)],
      [400, '[0].address is not an email address'],
      [bounce('a'), bounce('b'), bounce('c')],
      ['d@example.net'],
      [['e@example.net', ['*']]],
      expect.objectContaining({ address: 'a@example.net', code: 550, error: '550 no user' }),
      expect.objectContaining({ message: 'Bounced address has been removed', address: 'a@example.net' }),
      [404, 'Address not found in bounces table'],
      [404, expect.stringContaining('Use GET /v1/suppressions')],
    ]);
  },
  TEST_MS_MAX,
);

test(
  'events.get, stats.getDomain and domains.list, domains.get and domains.verify read',
  async () => {
    const [newest, all, more, opened, badPage, stats, badStats, domains, domain, verified, unknown] = (await program(`
await client.messages.create(DOMAIN, { from: 'a@example.test', to: 'ann@example.net', subject: 'events', text: 'Hi', 'o:tag': 'one' });
let page;
do page = await client.events.get(DOMAIN, { event: 'delivered', limit: 10 }); while (page.items.length === 0);
show(page.items[0]);
const read = [];
page = await client.events.get(DOMAIN, { ascending: 'yes', event: 'accepted OR delivered', limit: 1 });
for (; page.items.length > 0; page = await client.events.get(DOMAIN, { limit: 1, page: page.pages.next.page }))
  read.push(page.items[0].event);
show([read.includes('accepted'), read.includes('delivered')]);
show((await client.events.get(DOMAIN, { page: page.pages.next.page })).items);
show((await client.events.get(DOMAIN, { event: 'opened' })).items);
show(await errorOf(client.events.get(DOMAIN, { page: 'nonsense' })));
let stats;
do stats = await client.stats.getDomain(DOMAIN, { event: ['accepted', 'delivered', 'failed'], duration: '2d' });
while (stats.stats.reduce((sum, { delivered }) => sum + delivered.total, 0) === 0);
show(stats);
show(await errorOf(client.stats.getDomain(DOMAIN, { event: ['nothing'] })));
show(await client.domains.list());
show(await client.domains.get(DOMAIN));
show(await client.domains.verify(DOMAIN));
show(await errorOf(client.domains.get('other.test')));`)) as Answers;
    expect(newest).toMatchObject({ event: 'delivered', recipient: expect.stringContaining('@'), 'user-variables': {} });
    expect(newest.message.headers['message-id']).toMatch(/^msg_\w+@example\.test$/);
    expect([all, more, opened]).toEqual([[true, true], [], []]);
    expect(badPage).toEqual([400, expect.stringMatching(/^page must be/)]);
    expect(stats.resolution).toBe('day');
    expect(stats.stats[0]).toMatchObject({
      accepted: { incoming: 0, outgoing: expect.any(Number), total: expect.any(Number) },
      failed: { permanent: { total: expect.any(Number) }, temporary: { total: expect.any(Number) } },
    });
    expect(badStats).toEqual([400, expect.stringMatching(/^event must be one of/)]);
    expect(domains).toMatchObject([{ name: 'example.test', state: 'active' }]);
    expect(domain).toMatchObject({ name: 'example.test', receiving_dns_records: [] });
    expect(domain.sending_dns_records.length).toBeGreaterThan(2);
    expect(verified).toMatchObject({ name: 'example.test' });
    expect(unknown).toEqual([404, 'Domain not found: other.test']);
  },
  TEST_MS_MAX,
);
