import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { describe, expect, test } from 'vitest';
import { optionsIn } from '../../../src/cli/command.ts';
import { importCommand } from '../../../src/cli/import/command.ts';
import { VENDORS, type Vendor } from '../../../src/http/compat/vendors.ts';
import { RESEND, said, useTenant } from './tenant.ts';

/** Executable statements of the migration pages. The end-to-end tests cover the vendors' clients. */

const { ask } = useTenant();

const pageOf = (vendor: Vendor): string =>
  readFileSync(new URL(`../../../docs/migrating-from-${vendor}.md`, import.meta.url), 'utf8');

const rowsUnder = (page: string, heading: string): readonly string[] => {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const rows = section.split('\n## ')[0]?.match(/^\| .* \|$/gm) ?? [];
  return rows.slice(1);
};

/** First cells of the rows under a heading. */
const cellsUnder = (page: string, heading: string): readonly string[] =>
  rowsUnder(page, heading).map((row) => row.split(/(?<!\\) \| /)[0] ?? '');

const COMPAT = new URL('../../../src/http/compat/', import.meta.url);
const SOURCES = readdirSync(COMPAT)
  .map((name) => readFileSync(new URL(name, COMPAT), 'utf8'))
  .join('\n');

/** Calls of a vendor's client that have a route: its summary is the name of the call. */
const callsOf = (vendor: Vendor): readonly string[] => {
  const routes = [
    ...SOURCES.matchAll(
      /[ `']\/compat\/(\w+)[^\n]*\s+\{\s*summary: '([^']+)'|\/compat\/(\w+)[^\n]*summary: '([^']+)'/g,
    ),
  ];
  const own = routes.filter(([, one, , other]) => (one ?? other) === vendor);
  return [...new Set(own.map(([, , call, , other]) => call ?? other ?? ''))].sort();
};

const wordsIn = (cells: readonly string[]): readonly string[] =>
  cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));

describe.each(VENDORS)('the page about %s', (vendor) => {
  const page = pageOf(vendor);

  test('names the path of its routes', () => {
    expect(page).toContain(`outbox.example.com/compat/${vendor}`);
  });

  test('lists the supported calls, each with a file that tests it', () => {
    const rows = rowsUnder(page, 'Calls').map((row) => row.split(' | '));
    const listed = rows.flatMap(([calls = '', file = '']) =>
      [...wordsIn([calls])].map((call) => [call, wordsIn([file])[0] ?? ''] as const),
    );
    expect(listed.map(([call]) => call).sort()).toEqual(callsOf(vendor));
    for (const [call, file] of listed) {
      const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
      // `/v3/suppression/{list}` is tested with a list.
      const [name = ''] = (call.split(/[. ]/).at(-1) ?? '').split(/\/\{/);
      expect([call, source.includes(name)]).toEqual([call, true]);
    }
  });

  test('is not needed to see what to call instead of an unsupported call', async () => {
    const path = {
      sendgrid: '/v3/user/webhooks',
      mailgun: '/v3/a.test/webhooks',
      resend: '/webhooks/whk_1/events',
      postmark: '/webhooks',
    }[vendor];
    expect(said(vendor, await ask(vendor, 'GET', path))).toContain(
      `GET /compat/${vendor}${path} is not supported. Use GET /v1/webhooks, which /docs describes`,
    );
    expect(said(vendor, await ask(vendor, 'GET', '/nothing'))).toContain(
      `GET /compat/${vendor}/nothing is not supported. /docs lists all supported calls`,
    );
  });

  test('shows imports that are commands', () => {
    const lines = [...page.matchAll(/^outbox import (\S+) (.+)$/gm)];
    expect(lines.length).toBeGreaterThan(2);
    for (const [, name, rest = ''] of lines) {
      expect(name).toBe(vendor);
      const { values } = parseArgs({ args: rest.split(' '), options: optionsIn(importCommand.usage), strict: true });
      expect(values.file).toMatch(/\.json$/);
    }
  });

  test('does not list anything as both mapped and not mapped', () => {
    const [maps, not] = ['What maps', 'What does not'].map((heading) => wordsIn(cellsUnder(page, heading)));
    expect(maps?.length).toBeGreaterThan(10);
    expect(
      not?.filter((word) => maps?.includes(word) && !['subject', 'text', 'html', 'content'].includes(word)),
    ).toEqual([]);
  });
});

/** Requests that use features which the pages list as unsupported. */
const REFUSED: readonly (readonly [Vendor, string, object, string])[] = [
  ['resend', '/emails', { attachments: [{ filename: 'a', path: 'https://a.test/a' }] }, 'attachments[0].path'],
  ['resend', '/emails', { scheduled_at: 'in 1 hour' }, 'scheduled_at'],
  ['postmark', '/email', { MessageStream: 'other' }, 'MessageStream'],
  ['postmark', '/email', { TrackLinks: 'TextOnly' }, 'TrackLinks'],
  ['postmark', '/email/withTemplate', { InlineCss: false }, 'InlineCss'],
  ['sendgrid', '/v3/mail/send', { sections: { a: 'b' } }, 'sections'],
  ['sendgrid', '/v3/mail/send', { asm: { group_id: 1 } }, 'asm'],
  ['sendgrid', '/v3/mail/send', { batch_id: 'x' }, 'batch_id'],
  ['sendgrid', '/v3/mail/send', { ip_pool_name: 'x' }, 'ip_pool_name'],
  ...['sandbox_mode', 'bypass_list_management', 'footer', 'bcc', 'spam_check'].map(
    (name) =>
      ['sendgrid', '/v3/mail/send', { mail_settings: { [name]: { enable: true } } }, `mail_settings.${name}`] as const,
  ),
  ...['subscription_tracking', 'ganalytics'].map(
    (name) =>
      [
        'sendgrid',
        '/v3/mail/send',
        { tracking_settings: { [name]: { enable: true } } },
        `tracking_settings.${name}`,
      ] as const,
  ),
  [
    'sendgrid',
    '/v3/mail/send',
    { tracking_settings: { click_tracking: { enable: true, enable_text: true } } },
    'tracking_settings.click_tracking.enable_text',
  ],
  ...(
    [
      ['recipient-variables', '{}'],
      ['amp-html', '<html>'],
      ['o:testmode', 'yes'],
      ['o:dkim', 'no'],
      ['o:require-tls', 'yes'],
      ['o:skip-verification', 'true'],
      ['o:sending-ip', '192.0.2.1'],
      ['o:sending-ip-pool', 'x'],
      ['o:time-zone-localize', '09:00'],
      ['o:deliverytime-optimize-period', '24h'],
      ['o:tracking-pixel-location-top', 'yes'],
      ['o:deliverytime', 'tomorrow'],
      ['t:version', 'v2'],
      ['t:text', 'yes'],
    ] as const
  ).map(([name, value]) => ['mailgun', '/v3/a.test/messages', { [name]: value }, name] as const),
  ['sendgrid', '/v3/mail/send', { content: [{ type: 'text/calendar', value: 'x' }] }, 'content[0].type'],
];

test.each(REFUSED)('%s %s refuses %j with its name and a remedy', async (vendor, path, payload, name) => {
  const body = vendor === 'sendgrid' ? { personalizations: [{}], ...payload } : { ...RESEND, ...payload };
  const sentence = said(vendor, await ask(vendor, 'POST', path, { payload: body }))
    .split('; ')
    .find((one) => one.startsWith(`${name} `));
  expect(sentence).toMatch(/: | must be /);
});
