import { describe, expect, test } from 'vitest';
import { readConfig, VARIABLES } from '../src/config.ts';
import { formatSecret } from '../src/domain/api-key/secret.ts';
import { StartRefused } from '../src/lib/async/async.ts';

const KEY = 'k'.repeat(32);

const problems = (environment: Record<string, string>): readonly string[] => {
  try {
    readConfig(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(StartRefused);
    return (error as StartRefused).message.split('\n');
  }
  return [];
};

describe('the configuration', () => {
  test('requires no variables: all have a default', () => {
    expect(readConfig({})).toEqual({
      databaseUrl: undefined,
      eventStoreUrl: undefined,
      redisUrl: undefined,
      mail: { kind: 'capture' },
      webhooksMax: 50,
      inboundMax: 6_000,
      inboundSenderMax: 600,
      webhookSourceAddresses: [],
      sourceAddresses: [],
      allowPrivateMx: false,
      roles: new Set(['api', 'projections', 'workers']),
      host: '127.0.0.1',
      port: 3000,
      dataDir: `${process.cwd()}/data`,
      publicUrl: undefined,
      trustedProxies: [],
      secretKey: undefined,
      previousSecretKey: undefined,
      encryptContents: false,
      bounceDomain: undefined,
      bouncePort: 25,
      ehloName: undefined,
      dnsServers: [],
      logLevel: 'info',
      sendingLimits: { bounces: [2, 4, 5], complaints: [0.08, 0.2, 0.3] },
      adminKey: undefined,
      plansFile: undefined,
      readingsPercent: 100,
      auditInterval: 60,
      auditCheckHour: 3,
      auditWitnesses: undefined,
      metricsPort: undefined,
      metricsHost: '127.0.0.1',
      submissionPort: undefined,
      tlsFiles: undefined,
      submissionTlsPort: undefined,
      postmaster: undefined,
      mxPort: undefined,
    });
  });

  test('treats empty variables as absent, as compose files pass them', () => {
    expect(readConfig(Object.fromEntries(VARIABLES.map((name) => [name, '']))).port).toBe(3000);
  });

  test('reads every variable', () => {
    const adminKey = formatSecret('live', new Uint8Array(32).fill(7));
    const config = readConfig({
      DATABASE_URL: 'postgres://a:b@db/outbox',
      EVENTSTORE_URL: 'esdb://es:2113?tls=false',
      REDIS_URL: 'rediss://r',
      MAIL_URL: 'smtp://u:p@mail:587',
      ROLES: ' api , workers',
      HOST: '::1',
      PORT: '0',
      DATA_DIR: '/d',
      SOURCE_ADDRESSES: '192.0.2.7, 2001:db8::7',
      SOURCE_POOLS: 'bulk=192.0.2.8; Example.com/bulk = 192.0.2.9,2001:db8::9',
      SOURCE_WARM_UPS: '192.0.2.8=2026-11-29; 2001:db8::9 = 2027-02-28',
      ALLOW_PRIVATE_MX: 'true',
      PUBLIC_URL: 'https://mail.example.com/',
      TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      SECRET_KEY: KEY,
      PREVIOUS_SECRET_KEY: `previous ${KEY}`,
      ENCRYPT_CONTENTS: 'true',
      EHLO_NAME: 'mail.example.com',
      DNS_SERVERS: '127.0.0.1, [::1]:5353',
      LOG_LEVEL: 'debug',
      BOUNCE_RATES: '1, 2.5,3',
      COMPLAINT_RATES: 'off',
      BOUNCE_DOMAIN: 'Bounces.Example.com',
      BOUNCE_PORT: '2525',
      OUTBOX_ADMIN_KEY: adminKey,
      METRICS_PORT: '9464',
      METRICS_HOST: '0.0.0.0',
      SUBMISSION_PORT: '587',
      TLS_CERT_FILE: '/tls/cert.pem',
      TLS_KEY_FILE: '/tls/key.pem',
      SUBMISSION_TLS_PORT: '465',
      POSTMASTER: 'Post <post@example.com>',
      WEBHOOKS_MAX: '300',
      INBOUND_MAX_PER_MINUTE: '100',
      INBOUND_SENDER_MAX_PER_MINUTE: '10',
      WEBHOOK_SOURCE_ADDRESSES: '192.0.2.8, 2001:db8::8',
      WEBHOOK_CERT_FILE: '/tls/webhooks.pem',
      WEBHOOK_KEY_FILE: '/tls/webhooks-key.pem',
      AUDIT_INTERVAL: '5',
      AUDIT_CHECK_HOUR: 'off',
      AUDIT_WITNESSES: '/etc/outbox/witnesses.policy',
      READINGS_ON_RECORD: '20',
    });
    expect(config).toEqual({
      databaseUrl: 'postgres://a:b@db/outbox',
      eventStoreUrl: 'esdb://es:2113?tls=false',
      redisUrl: 'rediss://r',
      mail: { kind: 'smarthost', url: 'smtp://u:p@mail:587' },
      roles: new Set(['api', 'workers']),
      sourceAddresses: ['192.0.2.7', '2001:db8::7'],
      sourcePools: new Map([
        ['bulk', ['192.0.2.8']],
        ['example.com/bulk', ['192.0.2.9', '2001:db8::9']],
      ]),
      sourceWarmUps: new Map([
        ['192.0.2.8', '2026-11-29'],
        ['2001:db8::9', '2027-02-28'],
      ]),
      allowPrivateMx: true,
      host: '::1',
      port: 0,
      dataDir: '/d',
      publicUrl: 'https://mail.example.com',
      trustedProxies: ['10.0.0.0/8', '::1'],
      secretKey: KEY,
      previousSecretKey: `previous ${KEY}`,
      encryptContents: true,
      sendingLimits: { bounces: [1, 2.5, 3], complaints: null },
      readingsPercent: 20,
      auditInterval: 5,
      auditCheckHour: null,
      auditWitnesses: '/etc/outbox/witnesses.policy',
      ehloName: 'mail.example.com',
      logLevel: 'debug',
      adminKey,
      metricsPort: 9464,
      metricsHost: '0.0.0.0',
      dnsServers: [
        { address: '127.0.0.1', port: 53 },
        { address: '::1', port: 5353 },
      ],
      submissionPort: 587,
      tlsFiles: { cert: '/tls/cert.pem', key: '/tls/key.pem' },
      bounceDomain: 'bounces.example.com',
      bouncePort: 2525,
      submissionTlsPort: 465,
      postmaster: 'post@example.com',
      webhooksMax: 300,
      inboundMax: 100,
      inboundSenderMax: 10,
      webhookSourceAddresses: ['192.0.2.8', '2001:db8::8'],
      webhookTlsFiles: { cert: '/tls/webhooks.pem', key: '/tls/webhooks-key.pem' },
      mxPort: undefined,
    });
  });

  test('rejects a postmaster address whose mail would come back to this service', () => {
    expect(() => readConfig({ BOUNCE_DOMAIN: 'Bounces.example.com', POSTMASTER: 'me@bounces.Example.com' })).toThrow(
      /^POSTMASTER: set an address outside BOUNCE_DOMAIN/,
    );
  });

  test('reads the port for mail servers that tests set', () => {
    expect(readConfig({ OUTBOX_TEST_MX_PORT: '2525' }).mxPort).toBe(2525);
  });

  test.each([
    ['marketing=192.0.2.8', /^SOURCE_POOLS: set `transactional`, `bulk`, .+ instead of `marketing`$/],
    ['org_short=192.0.2.8', /instead of `org_short`$/],
    ['bulk=192.0.2.8;bulk=192.0.2.9', /^SOURCE_POOLS: set `bulk` once/],
    ['bulk=', /^SOURCE_POOLS: set an IP address instead of `` for `bulk`$/],
    ['bulk=192.0.2.8,mx.test', /^SOURCE_POOLS: set an IP address instead of `mx\.test` for `bulk`$/],
  ])('does not start with a pool that is not known or has no address: %s', (pools, problem) => {
    expect(problems({ SOURCE_ADDRESSES: '192.0.2.7', SOURCE_POOLS: pools })).toEqual([expect.stringMatching(problem)]);
  });

  test.each([
    ['mx.test=2026-11-29', 'set an IP address instead of `mx.test`'],
    ['192.0.2.7', 'set the first day of 192.0.2.7 as YYYY-MM-DD instead of ``'],
    ['192.0.2.7=2027-02-29', 'set the first day of 192.0.2.7 as YYYY-MM-DD instead of `2027-02-29`'],
    ['192.0.2.7=2026-11-29T00:00', 'set the first day of 192.0.2.7 as YYYY-MM-DD instead of `2026-11-29T00:00`'],
    ['192.0.2.7=2026-11-29;192.0.2.7=2026-11-30', 'set `192.0.2.7` once'],
    ['192.0.2.9=2026-11-29', 'set only addresses of SOURCE_ADDRESSES and SOURCE_POOLS'],
  ])('does not start with a warm-up of no address, or from no day: %s', (warmUps, problem) => {
    const given = { SOURCE_ADDRESSES: '192.0.2.7', SOURCE_POOLS: 'bulk=192.0.2.8', SOURCE_WARM_UPS: warmUps };
    expect(problems(given)).toEqual([`SOURCE_WARM_UPS: ${problem}`]);
  });

  test('requires addresses for the mail that no pool is for', () => {
    expect(problems({ SOURCE_POOLS: 'bulk=192.0.2.8' })).toEqual([
      'SOURCE_POOLS: set SOURCE_ADDRESSES too, for mail that no pool is for',
    ]);
  });

  test('reports all problems at once, one per line, with the variable and a remedy', () => {
    const lines = problems({
      DATABASE_URL: 'mysql://x',
      EVENTSTORE_URL: 'http://x',
      REDIS_URL: 'x',
      MAIL_URL: 'ftp://x',
      ROLES: 'api,cook',
      SOURCE_ADDRESSES: 'mail.example.com',
      SOURCE_POOLS: 'marketing=192.0.2.8',
      SOURCE_WARM_UPS: 'tomorrow',
      ALLOW_PRIVATE_MX: 'maybe',
      HOST: 'a b',
      PORT: '70000',
      PUBLIC_URL: 'example.com',
      TRUSTED_PROXIES: '10.0.0.0/33',
      EHLO_NAME: 'a..b',
      DNS_SERVERS: 'localhost',
      LOG_LEVEL: 'loud',
      OUTBOX_ADMIN_KEY: 'ob_live_x',
      METRICS_PORT: '1e3',
      METRICS_HOST: 'a b',
      SECRET_KEY: 'short',
      PREVIOUS_SECRET_KEY: 'shorter',
      ENCRYPT_CONTENTS: 'yes',
      SUBMISSION_PORT: '65536',
      SUBMISSION_TLS_PORT: 'x',
      POSTMASTER: 'nobody',
      TLS_CERT_FILE: '/tls/cert.pem',
      WEBHOOK_SOURCE_ADDRESSES: 'hook.example.com',
      WEBHOOK_CERT_FILE: '/tls/webhooks.pem',
      BOUNCE_DOMAIN: 'a@b',
      BOUNCE_PORT: '-1',
      BOUNCE_RATES: '5,4,2',
      COMPLAINT_RATES: 'none',
      AUDIT_INTERVAL: '0',
      AUDIT_CHECK_HOUR: '24',
      READINGS_ON_RECORD: '101',
      WEBHOOKS_MAX: '0',
      INBOUND_MAX_PER_MINUTE: '0',
      INBOUND_SENDER_MAX_PER_MINUTE: 'x',
    });
    expect(lines.map((line) => line.slice(0, line.indexOf(':'))).sort()).toEqual(
      VARIABLES.filter(
        (name) =>
          !/^(?:DATA_DIR|AUDIT_WITNESSES|PLANS_FILE|OUTBOX_FIRST_KEY_FILE|OIDC_\w+|(?:TLS|WEBHOOK)_CERT_FILE)$/.test(
            name,
          ),
      ).sort(),
    );
    for (const line of lines) expect(line).toMatch(/^[A-Z_]+: .*\bset\b/);
  });

  test.each([
    'esdb://n1:2113,n2:2113,n3:2113?nodePreference=leader',
    'esdb+discover://name:password@cluster.example.com:2113',
    'kurrentdb://es:2113?tls=false',
  ])('accepts an event store with one host, several hosts, or the newer scheme: %s', (eventStoreUrl) => {
    expect(readConfig({ EVENTSTORE_URL: eventStoreUrl }).eventStoreUrl).toBe(eventStoreUrl);
  });

  test.each([
    ['https://mail.example.com/', 'https://mail.example.com'],
    ['HTTPS://Mail.Example.com:443/outbox//', 'https://mail.example.com/outbox'],
    ['https://post.müller.example', 'https://post.xn--mller-kva.example'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
  ])('accepts %s as a base URL, in ASCII', (given, publicUrl) => {
    expect(readConfig({ PUBLIC_URL: given }).publicUrl).toBe(publicUrl);
  });

  test.each([
    'mail.example.com',
    'ftp://mail.example.com',
    'https://user:password@mail.example.com',
    'https://mail.example.com/?tenant=1',
    'https://mail.example.com/#there',
    `https://mail.example.com/${'x'.repeat(500)}`,
  ])('rejects %s as a base URL', (given) => {
    expect(problems({ PUBLIC_URL: given })).toEqual([expect.stringMatching(/^PUBLIC_URL: set the address of the API/)]);
  });

  test('requires a secret key with DATABASE_URL, because every process needs the same one', () => {
    const database = { DATABASE_URL: 'postgres://db/outbox' };
    expect(problems(database)).toEqual([expect.stringMatching(/^SECRET_KEY: is required with DATABASE_URL: set /)]);
    expect(problems({ ...database, SECRET_KEY: 'short' })).toEqual([
      'SECRET_KEY: set at least 32 characters of `openssl rand -hex 32`',
    ]);
    expect(problems({ ...database, SECRET_KEY: KEY })).toEqual([]);
    expect(problems({ SECRET_KEY: KEY, PREVIOUS_SECRET_KEY: KEY })).toEqual([
      'PREVIOUS_SECRET_KEY: is the same as SECRET_KEY: set the previous SECRET_KEY, or omit it',
    ]);
  });

  test('accepts delivery to the recipients’ own servers', () => {
    expect(readConfig({ MAIL_URL: 'direct:' }).mail).toEqual({ kind: 'direct' });
    for (const MAIL_URL of ['direct', 'direct://x', 'smtp:', 'capture:x']) {
      expect(problems({ MAIL_URL })).toEqual([expect.stringMatching(/^MAIL_URL: set `capture:`, `direct:`, `smtp:/)]);
    }
  });

  test('never repeats a secret in a problem', () => {
    expect(problems({ MAIL_URL: 'smtpx://u:hunter2@x', SECRET_KEY: 'hunter2' }).join()).not.toContain('hunter2');
  });
});
