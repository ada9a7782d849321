import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createClosers } from '../../src/composition/lifecycle.ts';
import {
  METRICS_POOL,
  measureProcess,
  measureQueues,
  measureService,
  measureStreams,
  measureWebhookPosts,
} from '../../src/composition/measure-service.ts';
import { type Engines, openEngines } from '../../src/composition/open-engines.ts';
import { measureAudit, measureBacklog, measureDeliveries } from '../../src/composition/start-metrics.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { AppendOutcomeUnknown, LogReplaced } from '../../src/domain/kernel/event-store.ts';
import type { WebhookTarget } from '../../src/domain/ports/webhooks.ts';
import { createMetricsServer } from '../../src/http/metrics.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import type { ProjectionLag } from '../../src/lib/projections/projections.ts';
import { createReadModels } from '../../src/projections/read-models.ts';
import { issueCertificate } from '../support/certificates.ts';
import { silentLogger } from '../support/logger.ts';
import { migratedDatabase, type TestDatabase } from '../support/postgres.ts';
import { firingAlerts, hasPromtool, type Scrapes } from '../support/promtool.ts';

/**
 * Every alert fires on a scrape of the real metrics in its bad state, and no other does. `promtool` evaluates the
 * rules.
 */

const RULES = new URL('../../docs/prometheus/outbox.rules.yml', import.meta.url).pathname;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string };
}
const rules = async (): Promise<readonly Rule[]> =>
  (parse(await readFile(RULES, 'utf8')) as { groups: [{ rules: Rule[] }] }).groups[0].rules;

/** Parts of a scrape that a test can break. */
interface Parts {
  readonly config: Config;
  readonly engines: Engines;
  readonly lag: ProjectionLag;
  readonly oldestDueSeconds: number;
  readonly webhookStatus: number | null;
  readonly outcome: 'delivered' | 'deferred' | 'bounced' | 'expired' | 'unknown';
  /** Fails in the store of `engines`. Absent: an append succeeds. */
  readonly append?: () => Promise<unknown>;
  /** Time of the scrapes, in seconds since 1970. */
  readonly nowSeconds: number;
}

let database: TestDatabase;
let healthy: Parts;
const closers = createClosers(silentLogger);
let folder: string;

beforeAll(async () => {
  database = await migratedDatabase();
  folder = await mkdtemp(join(tmpdir(), 'outbox-alerts-'));
  const { certificate, key } = issueCertificate({ names: ['mx.example.com'] });
  await writeFile(join(folder, 'cert.pem'), certificate);
  await writeFile(join(folder, 'key.pem'), key);
  const config = readConfig({
    DATABASE_URL: database.url,
    SECRET_KEY: '1'.repeat(64),
    TLS_CERT_FILE: join(folder, 'cert.pem'),
    TLS_KEY_FILE: join(folder, 'key.pem'),
  });
  const engines = await openEngines({ config, logger: silentLogger, closers, owner: false });
  const pool = createPool({ url: database.url, logger: silentLogger, ...METRICS_POOL });
  closers.add('metrics pool', () => pool.end());
  const instances = async () => ({
    rows: ['a', 'p', 'w'].map((letter) => ({ mark: `outbox instance ${letter} 1.0.0 host:1`, since: new Date() })),
  });
  const query = (...parts: Parameters<typeof pool.query>) =>
    typeof parts[0] === 'string' && (parts[0] as string).includes('application_name like')
      ? instances()
      : pool.query(...parts);
  healthy = {
    config,
    engines: { ...engines, pool: { query } as unknown as Engines['pool'] },
    lag: { name: 'messages', seconds: 0, parkedEvents: 0, position: '1' },
    oldestDueSeconds: 0,
    webhookStatus: 200,
    outcome: 'delivered',
    // A week is left of the certificate: a month ago it was enough.
    nowSeconds: Date.now() / 1000 - 30 * 86_400,
  };
});
afterAll(async () => {
  await closers.closeAll();
  await database.drop();
  await rm(folder, { recursive: true });
});

/** Two scrapes of the real metrics, with a post, an attempt and an append between them. */
const scrapes = async (parts: Parts): Promise<readonly [string, string]> => {
  const { config, lag, oldestDueSeconds, webhookStatus, outcome } = parts;
  const registry = new Registry();
  let succeeded: Parameters<Engines['onAppend']>[0] = () => undefined;
  const onAppend: Engines['onAppend'] = (listener) => {
    succeeded = listener;
    parts.engines.onAppend(listener);
  };
  const engines: Engines = { ...parts.engines, onAppend };
  const { pool, store, system } = engines;
  const readModels = createReadModels({ pool, store, system });
  measureBacklog(registry, async () => ({
    waiting: { due: 1, scheduled: 0, deferred: 0, held: 0 },
    oldestDueSeconds,
    suspendedDestinations: 0,
  }));
  measureService(registry, { config, engines, readModels });
  measureProcess(registry, { config, engines, version: '1.0.0' });
  const deliveries = measureDeliveries(registry, () => 1);
  measureAudit(registry)?.onChecked(0);
  const counts = async () => ({ waiting: 0, active: 0 });
  measureQueues(registry, { transactional: { counts }, bulk: { counts } } as never);
  measureStreams(registry, () => 0);
  const target = measureWebhookPosts(registry, {
    post: async () => ({ status: webhookStatus, durationMs: 1, text: '' }),
  } as unknown as WebhookTarget);
  const rebuilds = async () => [];
  createMetricsServer({ registry, readModels: { lag: async () => [lag], rebuilds }, version: '1.0.0' });
  const before = await registry.metrics();
  await target.post({} as never);
  deliveries?.count(outcome);
  if (parts.append === undefined) succeeded('appended', 1);
  else await parts.append().catch(() => undefined);
  return [before, await registry.metrics()];
};

/** Scrapes of a state. */
const scraped = async (parts: Parts, edit: (text: string) => string = (text) => text): Promise<Scrapes> => {
  const [before, after] = await scrapes(parts);
  return { before: edit(before), after: edit(after), nowSeconds: parts.nowSeconds };
};

const failing = (error: Error) => async (): Promise<never> => {
  throw error;
};
const awayPool = { query: failing(new Error('away')) } as unknown as Engines['pool'];
const withLog = (parts: Parts, log: Partial<Engines['log']>): Parts => ({
  ...parts,
  engines: { ...parts.engines, log: { ...parts.engines.log, ...log } },
});
const withRows = async (sql: string, undo: string, work: () => Promise<Scrapes>) => {
  const { pool } = healthy.engines;
  await pool.query(sql);
  try {
    return await work();
  } finally {
    await pool.query(undo);
  }
};
/** @param values signed size, size that it has grown to, and whether a witness contradicts it. */
const withTree = (values: string) =>
  withRows(
    `insert into read_models.audit_trees (tree, size, latest, signed_size, grown_to, disputed) values ('t', 2, '', ${values})`,
    'delete from read_models.audit_trees',
    () => scraped(healthy),
  );
/** Counts outcomes of mail from an address. */
const withSource = (...counts: readonly [delivered: number, bounced: number, complained: number]) =>
  withRows(
    `insert into read_models.reputation_counts values ('2001:db8::8', current_date - 6, ${counts}), ('dom_1', current_date, 1000, 500, 500)`,
    'delete from read_models.reputation_counts',
    () => scraped(healthy),
  );
/** The disk of a machine cannot be filled in a test: the scrape says so instead. */
const fullDisk = (text: string): string => `${text}outbox_disk_free_bytes 5\noutbox_disk_size_bytes 100\n`;
const setting =
  (series: string, value: number) =>
  (text: string): string =>
    text
      .split('\n')
      .map((line) => (line.startsWith(`${series} `) ? `${series} ${value}` : line))
      .join('\n');

const rising = (series: string): Promise<Scrapes> => {
  let total = 0;
  return scraped(healthy, (text) => `${text}${series} ${total++}\n`);
};

/** A state in which appends fail with an error. */
const appendsFail = (error: Error) => async (): Promise<Scrapes> => {
  const broken = createClosers(silentLogger);
  const same = <Port>(port: Port): Port => port;
  const store = (log: Engines['log']) => ({ ...log, append: failing(error) });
  const kept = { contents: same, secrets: same, queues: same, transport: same, webhookDeliveries: same };
  const ports = { store, ...kept, webhookTarget: same, retention: same, pool: same };
  const parts = { config: healthy.config, logger: silentLogger, closers: broken, overrides: { ports } };
  const engines = await openEngines({ ...parts, owner: false });
  try {
    const append = () => engines.log.append({} as never);
    return await scraped({ ...healthy, append, engines: { ...engines, pool: healthy.engines.pool } });
  } finally {
    await broken.closeAll();
  }
};

/** States in which a scrape shows exactly these alerts. */
const STATES: Readonly<Record<string, { readonly fires: readonly string[]; state(): Promise<Scrapes> }>> = {
  healthy: { fires: [], state: () => scraped(healthy) },
  'no process answers': { fires: ['OutboxDown'], state: () => scraped(healthy, () => '') },
  'the database is away': {
    fires: ['OutboxDatabaseUnreachable'],
    state: () => scraped({ ...healthy, engines: { ...healthy.engines, pool: awayPool } }),
  },
  'the log is away': {
    fires: ['OutboxLogUnreachable'],
    state: () => scraped(withLog(healthy, { look: failing(new StoreUnavailable('away')) })),
  },
  'the log was replaced': {
    fires: ['OutboxLogReplaced'],
    state: () => {
      const replaced = () => new LogReplaced('another log');
      return scraped({
        ...healthy,
        engines: { ...healthy.engines, logGuard: { ...healthy.engines.logGuard, replaced } },
      });
    },
  },
  'the disk is nearly full': { fires: ['OutboxDiskFull'], state: () => scraped(healthy, fullDisk) },
  'a read model is behind, with parked events': {
    fires: ['OutboxEventsParked', 'OutboxProjectionsBehind'],
    state: () => scraped({ ...healthy, lag: { ...healthy.lag, seconds: 90, parkedEvents: 1 } }),
  },
  'mail waits for ten minutes': {
    fires: ['OutboxMailLate'],
    state: () => scraped({ ...healthy, oldestDueSeconds: 600 }),
  },
  'mail waits for two hours': {
    fires: ['OutboxMailLate', 'OutboxMailWaiting'],
    state: () => scraped({ ...healthy, oldestDueSeconds: 7200 }),
  },
  'mail is deferred': { fires: ['OutboxMailDeferred'], state: () => scraped({ ...healthy, outcome: 'deferred' }) },
  'mail bounces': { fires: ['OutboxMailBounced'], state: () => scraped({ ...healthy, outcome: 'bounced' }) },
  'mail from an address is reported as spam': {
    fires: ['OutboxSourceReputation'],
    state: () => withSource(1000, 50, 4),
  },
  'mail from an address bounces': { fires: ['OutboxSourceReputation'], state: () => withSource(1000, 51, 3) },
  'an address has sent little': { fires: [], state: () => withSource(199, 100, 100) },
  'mail expires': { fires: ['OutboxMailExpired'], state: () => scraped({ ...healthy, outcome: 'expired' }) },
  'a mail server does not answer': {
    fires: ['OutboxMailUnknown'],
    state: () => scraped({ ...healthy, outcome: 'unknown' }),
  },
  'webhooks are refused': {
    fires: ['OutboxWebhooksFailing'],
    state: () => scraped({ ...healthy, webhookStatus: 503 }),
  },
  'webhooks do not answer': {
    fires: ['OutboxWebhooksFailing'],
    state: () => scraped({ ...healthy, webhookStatus: null }),
  },
  'webhooks are not posted': {
    fires: ['OutboxWebhooksStopped'],
    state: () =>
      withRows(
        `insert into vault.webhook_deliveries (id, webhook_id, event, due_at, created_at)
         values ('1', 'whk_1', '{}', now() - interval '1 hour', now())`,
        'delete from vault.webhook_deliveries',
        () => scraped(healthy, (text) => text.replace(/^(outbox_webhook_posts_total\{.*\}) \d+$/gm, '$1 0')),
      ),
  },
  'a certificate expires in a week': {
    fires: ['OutboxCertificateExpires'],
    state: () => scraped({ ...healthy, nowSeconds: Date.now() / 1000 }),
  },
  'nothing is signed': { fires: ['OutboxSigningStopped'], state: () => withTree('0, 2, false') },
  'a witness contradicts an audit log': { fires: ['OutboxSigningStopped'], state: () => withTree('2, 2, true') },
  'the clock is off': {
    fires: ['OutboxClockOff'],
    state: () => {
      const { system } = healthy.engines;
      const now = () => new Date(system.now().getTime() + 5_000);
      return scraped({ ...healthy, engines: { ...healthy.engines, system: { ...system, now } } });
    },
  },
  'appends fail with a full disk': {
    fires: ['OutboxAppendsFail', 'OutboxDiskFull'],
    state: appendsFail(
      new StoreUnavailable('away', { cause: Object.assign(new Error('could not extend file'), { code: '53100' }) }),
    ),
  },
  'appends fail with an unknown outcome': {
    fires: ['OutboxAppendsFail'],
    state: appendsFail(new AppendOutcomeUnknown('no answer')),
  },
  'appends fail with a log that is away': {
    fires: ['OutboxAppendsFail'],
    state: appendsFail(new StoreUnavailable('away')),
  },
  // These values are set by code that has tests of its own.
  'the log has a foreign event': {
    fires: ['OutboxForeignEvents'],
    state: () => scraped(healthy, setting('outbox_audit_logs_foreign', 1)),
  },
  'invoices have stopped': {
    fires: ['OutboxBillingStopped'],
    state: () => scraped(healthy, (text) => `${text}outbox_billing_stopped_organizations 1\n`),
  },
  'no workers': {
    fires: ['OutboxRoleMissing'],
    state: () => scraped(healthy, setting('outbox_processes{role="workers"}', 0)),
  },
  'the database has no connections left': {
    fires: ['OutboxDatabaseConnections'],
    state: () => scraped(healthy, setting('outbox_database_connections_max', 1)),
  },
  'a pool is exhausted': {
    fires: ['OutboxPoolExhausted'],
    state: () => scraped(healthy, setting('outbox_pool_waiting{pool="service"}', 3)),
  },
  'the audit check found a fault, four days ago': {
    fires: ['OutboxAuditCheckLate', 'OutboxAuditFaults'],
    state: () =>
      scraped(healthy, (text) => `${setting('outbox_audit_faults', 1)(text)}outbox_audit_check_age_seconds 345600\n`),
  },
  'contents are missing': { fires: ['OutboxContentsMissing'], state: () => rising('outbox_contents_missing_total') },
  'mail that arrives is not recorded': {
    fires: ['OutboxInboundDeferred'],
    state: () => rising('outbox_inbound_mails_total{outcome="failed"}'),
  },
};

describe('the alerts', () => {
  test('each has an entry in the runbook, and the runbook has no others', async () => {
    const runbook = await readFile(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
    const entries = [...runbook.matchAll(/^## (Outbox\w+)$/gm)].map(([, name]) => name);
    expect(entries).toEqual((await rules()).map(({ alert }) => alert));
    for (const { alert, annotations } of await rules()) {
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });

  test('each has a state below in which it fires', async () => {
    const tested = new Set(Object.values(STATES).flatMap(({ fires }) => fires));
    expect([...tested].sort()).toEqual((await rules()).map(({ alert }) => alert).sort());
  });

  test('a scrape answers while the database and the log are away', async () => {
    const parts = withLog(
      { ...healthy, engines: { ...healthy.engines, pool: awayPool } },
      { look: failing(new StoreUnavailable('away')) },
    );
    const [text] = await scrapes(parts);
    expect(text).toContain('\noutbox_database_up 0\n');
    expect(text).toContain('\noutbox_log_up 0\n');
    expect(text).not.toMatch(/^outbox_(?:database_size_bytes|audit_logs_disputed|webhooks_failing) /m);
  });

  test('no label of a metric has a value that tenants choose', async () => {
    const [, text] = await scrapes(healthy);
    const names = new Set(
      [...text.matchAll(/^outbox_\w+\{(.*)\} /gm)].flatMap(([, all = '']) =>
        [...all.matchAll(/(\w+)="/g)].map(([, name]) => name),
      ),
    );
    expect([...names].sort()).toEqual([
      'certificate',
      'le',
      'node',
      'outcome',
      'pool',
      'projection',
      'queue',
      'reason',
      'result',
      'role',
      'state',
      'version',
    ]);
  });
});

describe.skipIf(!hasPromtool && process.env.CI_ENGINES !== 'required')('promtool', () => {
  const fired = new Map<string, readonly string[]>();

  beforeAll(async () => {
    const states: Scrapes[] = [];
    for (const { state } of Object.values(STATES)) states.push(await state());
    const found = await firingAlerts(RULES, states);
    for (const [at, name] of Object.keys(STATES).entries()) fired.set(name, found[at] ?? []);
  });

  test.each(Object.entries(STATES))('%s', (name, { fires }) => {
    expect(fired.get(name)).toEqual(fires);
  });
});
