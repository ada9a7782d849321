import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { totalsText } from '../../../src/cli/customer/stats.ts';
import { definitionOf, partsOf, shareOf } from '../../../src/dashboard/data/rates.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { RATE_NAMES, RATES, type Rate } from '../../../src/domain/message/rates.ts';
import type { SerializedStats } from '../../../src/http/resources/stats.ts';
import { LATER_EVENTS } from '../../projections/support/message-events.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { contextAt } from '../../support/specification.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

/** Each run appends messages of an organization of its own. A failure prints its seed. */
const RUNS = 8;
const OUTCOMES = [
  'RecipientDelivered',
  'RecipientDeferred',
  'RecipientBounced',
  'RecipientExpired',
  'RecipientSuppressed',
  'RecipientOpened',
  'RecipientClicked',
  'RecipientComplained',
  'RecipientUnsubscribed',
] as const;

/** The outcomes of the recipients of each message. */
const mail = fc.array(fc.array(fc.subarray([...OUTCOMES]), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 8,
});

let service: DatabaseService;
let database: Client;
beforeAll(async () => {
  service = await startDatabaseService();
  database = new Client({ connectionString: service.url });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await service.close();
});

const eventsOf = (messageId: string, domainId: string, recipients: readonly (readonly string[])[]): MessageEvent[] => [
  messageAccepted({ messageId, domainId, recipients: recipients.map((_, at) => recipient(`rcp_${at}`)) }),
  ...recipients.flatMap((outcomes, at) =>
    OUTCOMES.filter((type) => outcomes.includes(type)).map((type) => {
      const { data } = LATER_EVENTS[type];
      return { type, data: { ...data, messageId, recipientId: `rcp_${at}` } } as MessageEvent;
    }),
  ),
];

/** The panels of the Grafana dashboard that show a rate, with the number that each shows. */
const panels = (): readonly { readonly description: string; readonly sql: string; readonly name: Rate }[] => {
  const { panels: all } = JSON.parse(
    readFileSync(new URL('../../../docs/grafana/outbox.json', import.meta.url), 'utf8'),
  );
  return all.flatMap((panel: { description?: string; targets?: { rawSql?: string }[] }) =>
    (panel.targets ?? []).flatMap(({ rawSql = '' }) => {
      const name = /nullif\(.*\) as (\w+) from/.exec(rawSql)?.[1] as Rate | undefined;
      const sql = rawSql.replace('$environment', 'live').replace('$__timeFilter(bucket)', 'true');
      return name === undefined ? [] : [{ description: panel.description ?? '', sql, name }];
    }),
  );
};

/** The row of the bucket that has the mail. */
const csvRow = (csv: string, accepted: number | undefined): Readonly<Record<string, string>> => {
  const [head = '', ...rows] = csv.split('\r\n');
  const cells = (rows.findLast((row) => row.includes(`,${accepted},`)) ?? '').split(',');
  return Object.fromEntries(head.split(',').map((name, at) => [name, cells[at] ?? '']));
};

type Totals = SerializedStats['totals'];

const rateIn = (totals: Totals, name: Rate): number | null => {
  const [count = 0, of = 0] = [totals[name], totals[RATES[name]]];
  return of === 0 ? null : Number((count / of).toFixed(6));
};

const shownAs = (rate: number | null): string => {
  if (rate === null) return '–';
  const digits = rate > 0 && rate < 0.001 ? 3 : 2;
  // One of a few delivered recipients may have complained several times as often.
  return `${(rate * 100).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} %`;
};

/** Appends the messages to the log of a new organization. */
const accept = async (messages: readonly (readonly (readonly string[])[])[]) => {
  const { store, system } = service.deps.context;
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, `${organizationId.slice(4)}.example.test`);
  for (const [at, recipients] of messages.entries()) {
    const messageId = `${organizationId}${at}`.replace('org_', 'msg_');
    await store.append({
      stream: `message-${messageId}`,
      expected: 'no-stream',
      events: eventsOf(messageId, domainId, recipients).map((event) => ({ ...event, id: system.uuid() })),
      context: contextAt(system.now().toISOString(), organizationId),
    });
  }
  // The views show an analyst's own organization.
  await database.query('delete from vault.analysts');
  await database.query(
    `insert into vault.analysts (role, organization_id, name, created_by) values (session_user, $1, 'x', 'y')`,
    [organizationId],
  );
  const key = (await service.makeKey(organizationId, domainId)).value;
  return (type: string) => service.request({ url: '/v1/stats?granularity=month', key, headers: { accept: type } });
};

const compareGrafana = async (totals: Totals): Promise<void> => {
  for (const { name, sql, description } of panels()) {
    const [row = {}] = (await database.query<Record<string, number | null>>(sql)).rows;
    const value = row[name] ?? null;
    expect(value === null ? null : Number(value.toFixed(6)), sql).toBe(totals.rates[name]);
    expect(description).toBe(`Share of ${RATES[name]} recipients.`);
  }
};

/** The words of the dashboard and of the command line. */
const compareWords = (stats: SerializedStats, name: Rate): void => {
  const { totals } = stats;
  const rate = rateIn(totals, name);
  expect(shareOf(rate)).toBe(shownAs(rate));
  expect(definitionOf(name)).toBe(`of ${RATES[name]}`);
  expect(partsOf(totals, name)).toBe(`${totals[name]} of ${totals[RATES[name]]} ${RATES[name]}`);
  const line = `${name.padEnd(16)} +${totals[name]}  ${((rate ?? 0) * 100).toFixed(2)} % of ${RATES[name]}`;
  if (rate !== null && rate > 0) expect(totalsText(stats)).toMatch(new RegExp(`^  ${line}$`, 'm'));
};

test('the API, CSV, command line, dashboard, SQL views and Grafana show the same rates for any mail', async () => {
  await fc.assert(
    fc.asyncProperty(mail, async (messages) => {
      const ask = await accept(messages);
      const stats = (await ask('application/json')).json<SerializedStats>();
      const { totals } = stats;
      const csv = csvRow((await ask('text/csv')).body, totals.accepted);
      const { rows: daily } = await database.query('select * from analytics.daily');
      expect(daily).toHaveLength(1);
      for (const name of RATE_NAMES) {
        const rate = rateIn(totals, name);
        expect(totals.rates[name], name).toBe(rate);
        expect(csv[`${name}_rate`], name).toBe(rate === null ? '' : String(rate));
        expect(daily[0][`${name}_rate`], name).toBe(rate);
        compareWords(stats, name);
      }
      await compareGrafana(totals);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  expect(panels().map(({ name }) => name)).toEqual(['delivered', 'bounced', 'complained', 'opened']);
});
